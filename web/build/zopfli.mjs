// Compresses standard input to gzip on standard output.
import { readFileSync, writeSync } from "node:fs";
import zopfli from "@gfx/zopfli";

const compressed = await zopfli.gzipAsync(readFileSync(0), { numiterations: 1 });
for (let at = 0; at < compressed.length; ) at += writeSync(1, compressed, at);
