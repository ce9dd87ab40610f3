// Go's runtime gives browsers the globals of Node that its programs look for when
// they start. A page of others is better off without them: libraries take
// whatever has a process for Node.
const missing = ["path", "process"].filter((name) => !(name in globalThis));
const kept = {};

// hide takes them away.
export function hide() {
  for (const name of missing) {
    kept[name] = globalThis[name];
    delete globalThis[name];
  }
}

// lent calls what runs a program with them in place.
export function lent(run) {
  Object.assign(globalThis, kept);
  try {
    return run();
  } finally {
    hide();
  }
}
