// Prints the .proto text of every message of @foxglove/schemas as one JSON object, made by
// the package's own generator.
const { createRequire } = require("node:module");
const require2 = createRequire(process.env.PEERS + "/");
const base = process.env.PEERS + "/node_modules/@foxglove/schemas/dist/internal/";
const { foxgloveMessageSchemas, foxgloveEnumSchemas } = require2(base + "schemas.js");
const { generateProto } = require2(base + "generateProto.js");
const files = {};
for (const schema of Object.values(foxgloveMessageSchemas)) {
  if (schema.protoEquivalent != undefined) continue;
  const enums = Object.values(foxgloveEnumSchemas).filter((e) => e.parentSchemaName === schema.name);
  files[`foxglove/${schema.name}.proto`] = generateProto(schema, enums);
}
console.log(JSON.stringify(files));
