// The download of the page's program, which whichever script comes first starts.

const idle = self.requestIdleCallback ?? setTimeout; // WebKit has none

// started resolves to the response. It is asked for once the browser has nothing
// else to do, or at the reader's first touch. Files and frames of an opaque origin
// may not fetch: there is none for them, unless a script has brought it.
export function started(root, name) {
  if (self.origin === "null" || self.vrametrePage) return self.vrametrePage;
  self.vrametrePage = new Promise((begin) => {
    for (const touch of ["pointerdown", "keydown"]) addEventListener(touch, begin, { once: true, capture: true, passive: true });
    idle(begin, { timeout: 1000 });
  }).then(() => fetch(new URL(name, root)));
  self.vrametrePage.catch(() => {}); // boot.js tells the reader
  return self.vrametrePage;
}
