// Makes the snippet that shows a part of the page elsewhere, as it stands now.
// The dialog, its words and the parts to choose from are in the page.
import { read } from "./fragment.js";

const escaped = (text) => text.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");
const element = (tag, attributes, inside = "") =>
  `<${tag}${Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${escaped(value)}"`)
    .join("")}>${inside}</${tag}>`;

const frame = ({ address, title, height }, source, more) =>
  element("iframe", { [source]: address, title, width: "100%", height, style: "border:0", allow: "clipboard-write", ...more });
const figure = ({ name, lang, options }) => element("vrametre-figure", { figure: name, lang, ...options });
const given = ({ lang, options }) => Object.entries({ lang, ...options }).map(([key, value]) => `:${key}: ${value}`);

const snippets = {
  iframe: (part) => frame(part, "src", { loading: "lazy" }),
  element: (part) => `${element("script", { src: part.script, async: "" })}\n${figure(part)}`,
  rst: (part) => [`.. vrametre:: ${part.name}`, ...given(part).map((line) => `   ${line}`)].join("\n"),
  jupyter: (part) => ["```{vrametre} " + part.name, ...given(part), "```"].join("\n"),
  myst: ({ address, title }) => `:::{iframe} ${address}\n:width: 100%\n${title}\n:::`,
  mkdocs: (part) => `# mkdocs.yml\nextra_javascript:\n  - ${part.script}\n\n${figure(part)}`,
  moodle: (part) => {
    const link = element("a", { href: part.address, target: "_blank", rel: "noopener" }, escaped(part.title));
    return `<p>${frame(part, "src")}</p>\n<p>${link}</p>`;
  },
  reveal: (part) => `<section>\n  ${frame(part, "data-src")}\n</section>`,
  link: ({ address }) => address,
};

export function integrate(root) {
  const dialog = document.querySelector("dialog.integration");
  if (!dialog) return;
  const { lang } = document.documentElement;
  const control = (name) => dialog.querySelector(`[data-choose="${name}"]`);
  const code = dialog.querySelector("textarea");
  const said = dialog.querySelector(".said");
  const online = /^http/.test(root.protocol) && !["localhost", "127.0.0.1"].includes(root.hostname);

  const write = () => {
    window.dispatchEvent(new Event("vrametre:leave")); // the address knows the last move
    const state = location.hash.startsWith("#v=") ? [...read(location.hash)].filter(([key]) => key !== "v") : [];
    const [chosen] = control("piece").selectedOptions;
    const [format] = control("format").selectedOptions;
    const options = {
      state: state.map((pair) => pair.join("=")).join("&"),
      theme: control("theme").value,
      hide: ["settings", "result"].filter((name) => control(name).checked).join(","),
      lock: control("all").checked ? "all" : "",
    };
    for (const [name, value] of Object.entries(options)) if (!value) delete options[name];
    const fragment = Object.entries(options).map(([name, value]) => (name === "state" ? value : `${name}=${value}`));
    const folder = dialog.dataset.folder;
    code.value = snippets[format.value]({
      name: chosen.value,
      title: chosen.textContent,
      height: chosen.dataset.height,
      lang,
      options,
      script: new URL("embed.js", root).href,
      address: `${root.href}${folder}${chosen.value}/#${["v=1", ...fragment].join("&")}`,
    });
    dialog.querySelector("#integrate-note").textContent = [format.dataset.note, ...(online ? [] : [dialog.dataset.local])].join(" ");
    said.textContent = "";
  };

  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("[data-integrate]");
    if (!button) return;
    control("piece").value = button.dataset.integrate;
    write();
    dialog.showModal();
  });
  dialog.addEventListener("input", write);
  dialog.addEventListener("click", async ({ target }) => {
    const action = target === dialog ? "close" : target.closest("[data-integration]")?.dataset.integration;
    if (action === "close") dialog.close();
    if (action !== "copy") return;
    try {
      await navigator.clipboard.writeText(code.value);
      said.textContent = dialog.dataset.copied;
    } catch {
      code.select();
      said.textContent = dialog.dataset.refused;
    }
  });
}
