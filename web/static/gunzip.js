// Unpacks gzip, in browsers too that came before DecompressionStream.
import { Gunzip } from "fflate";

// gunzip is a transform that unpacks what passes through it.
export function gunzip() {
  if ("DecompressionStream" in globalThis) return new DecompressionStream("gzip");
  const unpacker = new Gunzip();
  return new TransformStream({
    start(queue) {
      unpacker.ondata = (chunk) => queue.enqueue(chunk);
    },
    transform: (chunk) => unpacker.push(chunk),
    flush: () => unpacker.push(new Uint8Array(), true),
  });
}
