// Runs the book's widgets in a page that has no kernel and no network.
//
// The page carries each widget's state as JSON, written when the notebook ran. The code of the
// book's widgets stands in files that all pages share (widgetCode); a widget of another library has
// code and style in its state. This host hands every widget a model with the part of Jupyter's
// interface that the book's widgets use, and lets the widget draw itself where the notebook showed it.
(() => {
  "use strict";
  const STATE = "application/vnd.jupyter.widget-state+json";
  const VIEW = "application/vnd.jupyter.widget-view+json";
  const BESIDE = new URL("widgets/", document.currentScript.src);
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

  class Model {
    constructor(state) {
      this.state = state;
      this.listeners = new Map();
    }
    get(name) { return this.state[name]; }
    set(name, value) {
      if (same(this.state[name], value)) return;
      this.state[name] = value;
      this.emit(`change:${name}`, value);
      this.emit("change");
    }
    on(event, callback) {
      if (!this.listeners.has(event)) this.listeners.set(event, new Set());
      this.listeners.get(event).add(callback);
    }
    off(event, callback) { this.listeners.get(event)?.delete(callback); }
    emit(event, ...values) {
      for (const callback of [...(this.listeners.get(event) ?? [])]) callback(...values);
    }
    save_changes() {} // no kernel to tell
    /** What a widget asks of Python beyond its state stands in a file (a script: no other kind loads from a folder). */
    async send(content) {
      const name = this.get("_anywidget_id");
      try {
        await script(new URL(`${name}.held.js`, BESIDE).href);
        const bytes = Uint8Array.from(atob(window.widgetHeld[name]), (sign) => sign.charCodeAt(0));
        this.emit("msg:custom", content, [new DataView(bytes.buffer)]);
      } catch (error) {
        this.emit("msg:custom", { ...content, error: error.message }, []);
      }
    }
  }

  const scripts = (type) => [...document.querySelectorAll(`script[type="${type}"]`)];
  const once = (make, cache = new Map()) => (text) => {
    if (!cache.has(text)) cache.set(text, make(text));
    return cache.get(text);
  };

  const script = once((src) => new Promise((done, fail) => {
    const el = document.createElement("script");
    el.addEventListener("load", done);
    el.addEventListener("error", () => fail(new Error(`its file ${src.split("/").pop()} is missing.`)));
    el.src = src;
    document.head.append(el);
  }));

  const load = once(async (code) => {
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    try {
      const { default: widget } = await import(url);
      return typeof widget === "function" ? widget() : widget;
    } finally {
      URL.revokeObjectURL(url);
    }
  });

  const style = once((css) => {
    const el = document.createElement("style");
    el.textContent = css;
    document.head.append(el);
  });

  const codeOf = (model) => model?.get("_esm") ?? window.widgetCode?.[model?.get("_anywidget_id")];

  // A printer that comes before the file of a figure gets what stands there for a reader without scripts.
  const hosts = [];
  const waiting = () => hosts.filter(({ el, model }) => (window.widgetHeld ?? {})[model?.get("_anywidget_id")] !== undefined && !el.querySelector("[data-ready]"));
  addEventListener("beforeprint", () => {
    for (const { el } of waiting()) {
      const resting = document.createElement("div");
      resting.className = "widget-resting";
      resting.innerHTML = el.parentElement.querySelector(":scope > noscript")?.textContent ?? "";
      el.after(resting);
      el.hidden = true;
    }
  });
  addEventListener("afterprint", () => {
    for (const resting of document.querySelectorAll(".widget-resting")) {
      resting.previousElementSibling.hidden = false;
      resting.remove();
    }
  });
  /** Let every figure ask for its file, and wait until it is drawn, ten seconds at most. */
  window.figuresDrawn = async () => {
    const asked = waiting().map(({ el }) => el.firstElementChild).filter(Boolean);
    asked.forEach((root) => root.dispatchEvent(new Event("focusin")));
    for (let i = 0; i < 200 && !asked.every((root) => root.dataset.ready); i++) await new Promise((go) => setTimeout(go, 50));
  };

  async function show(script, model) {
    const el = document.createElement("div");
    el.className = "widget-host";
    hosts.push({ el, model });
    script.after(el);
    try {
      const code = codeOf(model);
      if (!code) throw new Error("it needs a running notebook.");
      if (model.get("_css")) style(model.get("_css"));
      const widget = await load(code);
      model.ready ??= widget.initialize?.({ model }) ?? true;
      await model.ready;
      await widget.render({ model, el });
      if (model.get("questions")) model.on("change:chosen", () => dispatchEvent(new CustomEvent("book-answered", { detail: model.state })));
    } catch (error) {
      el.textContent = `This figure cannot be shown here: ${error.message}`;
      console.error(error);
    }
  }

  function start() {
    const models = new Map();
    for (const script of scripts(STATE)) {
      for (const [id, { state }] of Object.entries(JSON.parse(script.textContent).state)) {
        models.set(id, new Model(state));
      }
    }
    for (const script of scripts(VIEW)) show(script, models.get(JSON.parse(script.textContent).model_id));
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
