// Takes the engine's numbers out of a page of embed/ while its host hides them:
// out of sight, and out of the document's texts and labels too, where a reader's
// tools would find them. They are put back when the host shows them again.

// results are the elements that are nothing but such numbers.
const results = [
  ".fig :is(.size,.rows,.copies,.scale),.twin,.area text",
  ".readout.told,.moment,.live-list,.others,.cursor-slider",
  ".tank :is(b,small),.verdict,.level,.where td>*,.bars p>.num",
  "#result,.outcome,.reveal",
].join();

// labels speak of them elsewhere: of drawings, and of pieces of drawings.
const labels = "[role=img][aria-label],.segments[aria-label],[data-tip],[data-cursor][aria-valuetext]";
const spoken = ["aria-label", "aria-valuetext", "data-tip"];

const root = document.documentElement;

// told are the texts and the attributes that have been taken out: as they were,
// and what stands in their place.
const told = new Map();
let concealing = false;

function silence(node, words = () => "") {
  if (!node || told.get(node)?.instead === node.nodeValue) return;
  const instead = words(node.nodeValue);
  told.set(node, { was: node.nodeValue, instead });
  node.nodeValue = instead;
}

function* texts(element) {
  const nodes = document.createNodeIterator(element, NodeFilter.SHOW_TEXT);
  for (let text; (text = nodes.nextNode()); ) yield text;
}

function take() {
  for (const node of told.keys()) if (!(node.ownerElement ?? node).isConnected) told.delete(node);
  for (const element of root.querySelectorAll(results)) {
    element.setAttribute("data-concealed", "");
    for (const text of texts(element)) silence(text);
    for (const one of [element, ...element.querySelectorAll("[aria-label],[data-tip]")]) {
      for (const name of spoken) silence(one.getAttributeNode(name));
    }
  }
  // The bars of a chart keep their names, which come before their sizes.
  for (const element of root.querySelectorAll(".chart text")) {
    for (const node of texts(element)) silence(node, (was) => (was.includes(":") ? was.slice(0, was.indexOf(":")).trim() : ""));
  }
  const words = document.querySelector("main")?.dataset.words;
  for (const element of root.querySelectorAll(labels)) {
    const drawing = element.matches("[role=img],.segments") && !element.closest("[data-concealed]");
    for (const name of spoken) silence(element.getAttributeNode(name), () => (drawing ? words : ""));
  }
  // Pieces that tell nothing are not asked.
  for (const element of root.querySelectorAll("[data-browse]")) element.inert = true;
}

function giveBack() {
  for (const [node, { was }] of told) node.nodeValue = was;
  told.clear();
  for (const element of root.querySelectorAll("[data-concealed]")) element.removeAttribute("data-concealed");
  for (const element of root.querySelectorAll("[data-browse]")) element.inert = false;
}

const observer = new MutationObserver(take);

// conceal takes the numbers out, from before the first paint on, or puts them back.
export function conceal(hidden) {
  if (hidden === concealing) return;
  concealing = hidden;
  if (hidden) {
    observer.observe(root, { childList: true, subtree: true, characterData: true, attributeFilter: spoken });
    take();
  } else {
    observer.disconnect();
    giveBack();
  }
}
