// Sections fold on a narrow screen; before printing all are open and everything that is drawn when scrolled to is drawn.

function openSection(section) {
  section?.querySelector(":scope > h2 > .fold")?.setAttribute("aria-expanded", "true");
  section?.classList.remove("folded");
}

// The heading of each section is a button that folds it; at first all but the opening and what-if are folded on a phone.
function makeFolds() {
  const narrow = matchMedia("(max-width: 600px)").matches;
  for (const section of document.querySelectorAll("main > section")) {
    const heading = section.querySelector(":scope > h2");
    if (!heading) continue;
    const folded = narrow && section.id !== "what-if";
    const button = el("button", { type: "button", class: "fold", "aria-expanded": String(!folded), onclick: () => {
      button.setAttribute("aria-expanded", String(section.classList.contains("folded")));
      section.classList.toggle("folded");
    } }, ...heading.childNodes);
    heading.replaceChildren(button);
    section.classList.toggle("folded", folded);
  }
  const jump = () => openSection(document.getElementById(location.hash.slice(1).split("=")[0])?.closest("section"));
  addEventListener("hashchange", jump);
  document.querySelectorAll("nav a").forEach((link) => link.addEventListener("click", () => openSection(document.querySelector(link.getAttribute("href")))));
  jump();
}

// What is drawn only when it is scrolled to has a function `fill`, called once.
const drawnLater = new IntersectionObserver((entries) => entries.forEach((entry) => entry.isIntersecting && drawNow(entry.target)), { rootMargin: "600px" });

function drawLater(element, fill) {
  element.fill = fill;
  drawnLater.observe(element);
  return element;
}

function drawNow(element) {
  drawnLater.unobserve(element);
  if (element.fill && !element.querySelector("svg")) element.fill();
  element.fill = () => {};
}

function makePrinting() {
  addEventListener("beforeprint", () => {
    document.querySelectorAll("main > section").forEach(openSection);
    document.querySelectorAll(".card").forEach((element) => element.fill && drawNow(element));
  });
}
