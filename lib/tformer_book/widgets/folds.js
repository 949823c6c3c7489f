// What a reader may want to see, and need not see first.

/** A part that is folded away, with its name. */
const fold = (name, ...inner) => h("details", { class: "tf-others" }, h("summary", {}, name), ...inner);

/** Such parts in a line; one that is open takes the whole width. */
const folds = (...parts) => h("div", { class: "tf-folds" }, ...parts);
