// Draws charts into SVG at build time: reads a list of {name, options, width,
// height} in JSON, writes the list of pictures.
import { readFileSync } from "node:fs";
import { complete, init } from "./complete.js";

const pictures = JSON.parse(readFileSync(0, "utf8")).map(({ name, options, width, height }) => {
  const chart = init(null, null, { renderer: "svg", ssr: true, width, height });
  chart.setOption(complete(options, "sans-serif"));
  const picture = chart.renderToSVGString({ useViewBox: true });
  chart.dispose();
  return bare(picture, name);
});
process.stdout.write(JSON.stringify(pictures));

// bare leaves what a picture inside a page needs: no style attribute nor sheet,
// which a strict content security policy refuses, no hooks for scripts, a size
// that its place decides, and names that are its own among several pictures.
function bare(picture, name) {
  return picture
    .replace(/^<svg [^>]*?(viewBox="[^"]*")>/, "<svg $1>")
    .replace(/<style[^]*?<\/style>/g, "")
    .replace(/ style="font-size:(\d+)px;font-family:sans-serif;"/g, ' font-size="$1"')
    .replace(/ (class|ecmeta_\w+|xml:space|pointer-events)="[^"]*"/g, "")
    .replace(/(["#])zr\d+-/g, `$1${name}-`)
    .replace(/>\s+</g, "><");
}
