// Brings back a page that was caught in the middle of a deployment: it is of one
// version, and the files it names are of another, gone or not there yet. This
// script has the same name in every version. The state is in the address, so
// that loading the page again keeps it.

const waits = [0, 5, 20, 60]; // seconds before each try

// The files that the page came with.
const own = [...document.querySelectorAll("head script[defer], head script[async], head link[rel=stylesheet]")].map((e) => e.src || e.href);
const hashed = own.map((address) => /[^/]+\.[0-9a-f]{10}\.\w+$/.exec(address)?.[0]).filter(Boolean);

// A page loaded again is not loaded again at once, nor for files that are there:
// whatever stops it then is something else.
const again = performance.getEntriesByType("navigation")[0]?.type === "reload";

let recovering = false;

async function recover(missing) {
  if (recovering || self.origin === "null") return;
  recovering = true;
  for (const wait of again ? waits.slice(1) : waits) {
    await new Promise((resolve) => setTimeout(resolve, wait * 1000));
    if ((await newer()) || (!again && (await there(missing)))) {
      location.reload();
      return;
    }
  }
}

// newer asks the host for the page, past the browser's own copy and in its place.
async function newer() {
  const page = await asked(location.href);
  return page !== undefined && hashed.some((name) => !page.includes(name));
}

async function there(files) {
  const answers = await Promise.all(files.map(asked));
  return answers.every((answer) => answer !== undefined);
}

async function asked(address) {
  try {
    const response = await fetch(address, { cache: "reload" });
    return response.ok ? await response.text() : undefined;
  } catch {
    return undefined;
  }
}

window.addEventListener("vrametre:missing", (event) => recover([event.detail]));
// By now the scripts before this one have run, if they are there.
const unstyled = [...document.querySelectorAll("head link[rel=stylesheet]")].some((link) => !link.sheet);
if (!window.vrametre || unstyled) recover(own);
