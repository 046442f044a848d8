// What ESLint holds against the live page's modules. PEERS is the folder into which npm has installed.
import { createRequire } from 'node:module';

const js = createRequire(`${process.env.PEERS}/`)('@eslint/js');

// What the browser gives, and nothing else: a name that isn't here is a mistake.
const browser = [
  'AbortSignal', 'Blob', 'DecompressionStream', 'Element', 'FormData', 'ImageData', 'OffscreenCanvas', 'Option', 'Response', 'TextDecoder', 'TextEncoder', 'URL',
  'URLSearchParams', 'WebSocket', 'Worker', 'clearInterval', 'clearTimeout', 'createImageBitmap', 'document', 'fetch', 'getComputedStyle', 'history',
  'location', 'matchMedia', 'navigator', 'performance', 'requestAnimationFrame', 'self', 'sessionStorage', 'setInterval', 'setTimeout', 'window',
];

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2023, sourceType: 'module', globals: Object.fromEntries(browser.map((name) => [name, 'readonly'])) },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      curly: ['error', 'multi-line'],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-shadow': 'error',
      'no-use-before-define': ['error', { functions: false, variables: false, classes: false }],
      'no-var': 'error',
      'object-shorthand': 'error',
      'prefer-const': 'error',
    },
  },
];
