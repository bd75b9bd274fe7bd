// npm ci && npm run build: writes plot.min.js and the licences of all that is in it.
import {createHash} from "node:crypto";
import {readFileSync, readdirSync, writeFileSync} from "node:fs";
import {build} from "esbuild";

const assets = new URL("../../src/projse/reports/assets/", import.meta.url);
const {metafile, outputFiles} = await build({
  entryPoints: ["plot.js"],
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "Plot",
  target: "es2020",
  charset: "ascii",
  legalComments: "none", // they stand in the file of licences
  metafile: true,
  write: false,
  outfile: "plot.min.js",
});
const {text} = outputFiles[0];
// The page forbids eval, and a script ends where its text says so.
for (const forbidden of [/\beval\(/, /\bFunction\(/, /<\/script/i, /<!--/]) {
  if (forbidden.test(text)) throw new Error(`plot.min.js contains ${forbidden}`);
}
const [{inputs}] = Object.values(metafile.outputs);
const packages = Object.entries(inputs)
  .filter(([, {bytesInOutput}]) => bytesInOutput > 0)
  .map(([path]) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1])
  .filter(Boolean);
const licences = [...new Set(packages)].sort().map((name) => {
  const folder = `node_modules/${name}`;
  const {version, license} = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const file = readdirSync(folder).find((f) => /^licen[sc]e/i.test(f));
  return `## ${name} ${version} (${license})\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`;
});
const sha256 = createHash("sha256").update(text).digest("hex");
const head = `# plot.min.js\n\nMade by tools/charts/build.js from the packages below.\nsha256: ${sha256}\n`;
writeFileSync(new URL("plot.min.js", assets), text);
writeFileSync(new URL("plot.LICENSES.md", assets), [head, ...licences].join("\n"));
console.log(`plot.min.js: ${text.length} bytes, sha256 ${sha256}`);
