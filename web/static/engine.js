// Loads WebAssembly modules, wherever the page lies.
import { gunzip } from "./gunzip.js";

// load compiles and instantiates a module of the build, below the address root.
// Its download may have been started before; progress is told the share that
// has arrived, from 0 to 1.
export async function load(root, module, imports, { started, progress = () => {} } = {}) {
  // Files and frames of an opaque origin may not fetch, but may run scripts.
  const response = await (started ??
    (self.origin === "null" ? fromScript(new URL(module.script, root)) : fetch(new URL(module.compressed, root))));
  if (!response.ok) throw Object.assign(new Error(`${response.status} ${response.url}`), { missing: response.url });
  const plain = await plainly(response, (seen) => progress(Math.min(1, seen / module.bytes)));
  try {
    return (await WebAssembly.instantiateStreaming(plain, imports)).instance;
  } catch (cause) { // a host's own page in the file's place, or a policy
    throw new Error(`${response.url || module.compressed}: ${cause.message}`, { cause });
  }
}

// plainly undoes the compression unless the host has already done so: the file
// is a gzip to hosts that know nothing of it, and a few hosts declare that.
async function plainly(response, progress) {
  const reader = response.body.getReader();
  let head = new Uint8Array();
  while (head.length < 2) {
    const { done, value } = await reader.read();
    if (done) break;
    head = join(head, value);
  }
  const received = new ReadableStream({
    start: (queue) => queue.enqueue(head),
    async pull(queue) {
      const { done, value } = await reader.read();
      if (done) queue.close();
      else queue.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  const bytes =
    head[0] === 0x1f && head[1] === 0x8b ? received.pipeThrough(gunzip()) : received;
  let seen = 0;
  const counted = new TransformStream({
    transform(chunk, queue) {
      seen += chunk.length;
      progress(seen);
      queue.enqueue(chunk);
    },
  });
  return new Response(bytes.pipeThrough(counted), { headers: { "Content-Type": "application/wasm" } });
}

function join(a, b) {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

// fromScript reads the module from a script that calls vrametreModule with its
// compressed bytes in base64.
function fromScript(src) {
  return new Promise((resolve, reject) => {
    self.vrametreModule = (base64) => {
      delete self.vrametreModule;
      resolve(new Response(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))));
    };
    const script = document.createElement("script");
    script.src = src;
    script.onerror = () => reject(new Error(`cannot load ${src}`));
    document.head.append(script);
    script.remove();
  });
}
