// The page: makes its parts and draws them when the browser is ready for a picture.

import { Actors } from './actors.js';
import { Api } from './api.js';
import { Drive } from './drive.js';
import { h, show } from './elements.js';
import { Keys } from './keys.js';
import { Link } from './link.js';
import { Losses } from './losses.js';
import { MessagePanel } from './message.js';
import { Arrangement, Dock, Panel } from './panels.js';
import { Pictures } from './pictures.js';
import { Place } from './place.js';
import { Plots } from './plots.js';
import { Rig } from './rig.js';
import { Run } from './run.js';
import { saveClouds, saveView } from './save.js';
import { TimeBar } from './timebar.js';
import { Topics } from './topics.js';
import { View3D } from './view3d.js';

const place = new Place();
const link = new Link(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`, place.token);
const api = new Api(place.token);
const run = new Run(link, api);
const keys = new Keys();
const arrangement = new Arrangement(document.getElementById('work'), place);

const scenePanel = new Panel('scene', '3-D');
const picturePanel = new Panel('pictures', 'Pictures');
const dock = new Dock(arrangement);
const view = new View3D(scenePanel, run, place);
const pictures = new Pictures(picturePanel, run, place);
const plots = new Plots(run, place);
const message = new MessagePanel(run, place, (topic, field) => {
  plots.add(topic, field);
  dock.show('plots');
});

const driveButton = h('button', { 'aria-pressed': 'false', title: 'Drive with w a s d (v)', onclick: () => drive.toggle() }, 'drive');
const drive = new Drive(run, keys, (on) => driveButton.setAttribute('aria-pressed', String(on)));
scenePanel.tools.append(driveButton, h('details', { class: 'drop' }, h('summary', {}, 'save'), h('div', { class: 'menu' },
  h('button', { onclick: () => saveView(view), disabled: !view.scene, title: view.broken ?? '' }, 'view as PNG'), h('button', { onclick: () => saveClouds(view.scene), disabled: !view.scene, title: view.broken ?? '' }, 'clouds as PCD'))));

dock.add('topics', 'Topics', new Topics(run, (name) => {
  message.choose(name);
  dock.show('message');
}));
dock.add('plots', 'Plots', plots);
dock.add('rig', 'Rig', new Rig(run, place));
dock.add('actors', 'Actors', new Actors(run, view));
dock.add('losses', 'Losses', new Losses(run));
dock.add('message', 'Message', message);
arrangement.arrange([scenePanel, picturePanel], dock);
view.themed(); // the link may have chosen

const actions = {
  losses: () => dock.show('losses'),
  swap: () => arrangement.swap(),
  theme: () => {
    arrangement.theme();
    view.themed();
  },
  help: () => keys.help(),
  link: async () => {
    place.put();
    try {
      await navigator.clipboard.writeText(location.href);
      run.complain('');
    } catch { // without https only this machine's pages may use the clipboard
      run.complain('The browser lets this page copy nothing. The address bar has the link.');
    }
  },
};
const bar = new TimeBar(document.getElementById('bar'), run, actions);

keys.on([' '], 'pause, continue', () => bar.toggle());
keys.on(['n', 'ArrowRight'], 'one step', (repeat) => drive.timer || bar.advance(1, repeat));
keys.on(['N', 'shift ArrowRight'], 'ten steps', () => bar.advance(10));
keys.on(['+', '='], 'faster', () => bar.faster(true));
keys.on(['-'], 'slower', () => bar.faster(false));
keys.on(['1'], 'orbit', () => view.setMode('orbit'));
keys.on(['2'], 'follow', () => view.setMode('follow'));
keys.on(['3'], 'from the top', () => view.setMode('top'));
keys.on(['c'], 'next colouring of points', () => view.nextColoring());
keys.on(['e'], 'follow the ego again', () => view.follow(0));
keys.on(['v'], 'drive with w a s d, or stop', () => drive.toggle());
keys.on(['f'], 'enlarge 3-D', () => arrangement.enlarge(scenePanel));
keys.on(['p'], 'enlarge pictures', () => arrangement.enlarge(picturePanel));
keys.on(['x'], 'swap 3-D and pictures', actions.swap);
keys.on(['t'], 'dark or light', actions.theme);
keys.on(['l'], 'copy a link to this view', actions.link);
keys.on(['?'], 'this card', actions.help);
keys.on(['Escape'], 'leave a large panel or picture, or clear the selection', () => {
  if (arrangement.enlarged) arrangement.enlarge(null);
  else if (!pictures.reduce()) view.chooseActor(null);
});

// A card over the page says what is wrong, where there is something that the user can do about it.
const notice = document.getElementById('notice');
const noticeText = h('p');
const noticeForm = h('form', { class: 'form' }, h('label', {}, 'token', h('input', { name: 'token', type: 'password', autocomplete: 'off' })), h('button', {}, 'connect'));
notice.append(noticeText, noticeForm);
noticeForm.addEventListener('submit', (e) => {
  e.preventDefault();
  const token = new FormData(noticeForm).get('token');
  place.remember(token);
  api.token = token;
  link.connect(token);
});

function tellNotice() {
  const { phase, reason } = link.state;
  const { problem } = run;
  let text = '';
  if (phase === 'refused') text = `The run refuses this page: ${reason}.`;
  else if (phase === 'unreachable' && problem?.status === 503) text = `${problem.message}. This page tries again by itself.`;
  else if (phase === 'unreachable' && problem?.status > 0) text = `The run refuses this page: ${problem.message}`;
  else if (phase === 'unreachable') text = 'No run answers at this address. Start one with "raybridge run --view"; this page connects by itself.';
  else if (phase === 'ended') text = 'The run has ended. The last data stays on screen; another run on this port is shown when it begins.';
  else if (phase === 'lost') text = 'The connection is lost. This page tries again by itself.';
  else if (phase === 'open' && problem) text = `The run sends data, but its API fails: ${problem.message}.`;
  else if (phase === 'open' && run.unbegun) text = 'Nothing is published yet: the run waits for the receivers that --wait-for names, or for its world.';
  else if (phase === 'open' && run.empty) text = 'Nothing is published: this run has no sensors. Add one in the panel Rig.';
  show(noticeText, text);
  notice.hidden = text === '';
  notice.className = phase;
  noticeForm.hidden = phase !== 'refused' && problem?.status !== 401;
}
link.watch(tellNotice);
run.watch(tellNotice);

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => view.themed());

// Menus close when something else is clicked.
document.addEventListener('pointerdown', (e) => {
  for (const menu of document.querySelectorAll('details.drop[open]')) if (!menu.contains(e.target)) menu.open = false;
});

// Credits go out after drawing: a page that is hidden or slow is sent less. A part that fails says so, and
// neither the others nor the next picture wait for it.
function draw() {
  requestAnimationFrame(draw);
  for (const part of [view, pictures, plots, message, bar]) {
    try {
      part.draw();
    } catch (error) {
      const words = `the page can't draw: ${error.message}`;
      if (run.complaint !== words) run.complain(words);
    }
  }
  link.settle();
}
requestAnimationFrame(draw);
