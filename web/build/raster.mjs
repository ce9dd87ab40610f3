// Turns pictures into PNG: reads {fonts, pictures, scale} in JSON, fonts in
// base64, writes the list of PNG in base64. The renderer is WebAssembly and has
// no fonts but those given, so the same pictures are the same bytes everywhere.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { initWasm, Resvg } from "@resvg/resvg-wasm";

await initWasm(readFileSync(fileURLToPath(import.meta.resolve("@resvg/resvg-wasm/index_bg.wasm"))));
const { fonts, family, pictures, scale } = JSON.parse(readFileSync(0, "utf8"));
const fontBuffers = fonts.map((font) => Buffer.from(font, "base64"));
const drawn = pictures.map((picture) =>
  Buffer.from(
    new Resvg(picture, { fitTo: { mode: "zoom", value: scale }, font: { fontBuffers, defaultFontFamily: family } }).render().asPng(),
  ).toString("base64"),
);
process.stdout.write(JSON.stringify(drawn));
