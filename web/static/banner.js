// Shows one message at a time below the page. Its words come with the page,
// in the attributes of <template id="texts">; a page without them shows none.

const words = document.getElementById("texts")?.dataset ?? {};

// banner shows the words of a name, with a button for each action, by the name of its words.
export function banner(name, actions) {
  document.querySelector(".banner")?.remove();
  if (!words[name]) return;
  const box = document.createElement("div");
  box.className = "banner";
  box.setAttribute("role", "status");
  document.body.append(box); // before its words, so that they are announced
  box.append(Object.assign(document.createElement("p"), { textContent: words[name] }));
  for (const [label, act] of Object.entries({ ...actions, close: () => {} })) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: words[label] });
    button.addEventListener("click", () => {
      box.remove();
      act();
    });
    box.append(button);
  }
}
