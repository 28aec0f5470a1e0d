import { buffersOf, type JoinedTexts, joinTexts, type SharedTexts } from "../joined-texts.ts";
import { shareTexts, SLICE, splitTexts } from "../joined-texts.ts";
import type { EdgeRefusal, SubsystemDraft } from "./subsystem-draft.ts";
import type { Kind } from "../vertex-table.ts";

/** A draft in the form that passes between threads: columns and few objects. */
export interface PackedSubsystem {
  readonly ids: JoinedTexts;
  readonly types: SharedTexts;
  readonly units: SharedTexts;
  readonly sizes: Float64Array;
  readonly kindOf: Int32Array;
  readonly labelled: Int32Array;
  readonly labels: JoinedTexts;
  readonly extras: SharedTexts;
  readonly inner: Int32Array;
  readonly links:
    | { readonly kind: "all-nodes" }
    | {
        readonly kind: "by-id";
        readonly outer: JoinedTexts;
        readonly firstUse: Int32Array;
        readonly pairs: Int32Array;
        readonly refusal: EdgeRefusal | undefined;
      };
}

export const packSubsystem = (draft: SubsystemDraft): PackedSubsystem => ({
  ids: joinTexts(draft.ids),
  types: shareTexts(draft.kinds.map(({ type }) => type)),
  units: shareTexts(draft.kinds.map(({ unit }) => unit)),
  sizes: Float64Array.from(draft.kinds, ({ size }) => size),
  kindOf: draft.kindOf,
  labelled: Int32Array.from(draft.labels.keys()),
  labels: joinTexts([...draft.labels.values()]),
  extras: shareTexts(draft.extras),
  inner: draft.inner,
  links:
    draft.links.kind === "all-nodes"
      ? draft.links
      : { ...draft.links, outer: joinTexts(draft.links.outer) },
});

/** Unpacks the draft in slices. */
export function* adoptSubsystem(packed: PackedSubsystem): Generator<undefined, SubsystemDraft> {
  const { kindOf, labelled, inner, links, sizes } = packed;
  const ids = yield* splitTexts(packed.ids);
  const types = yield* spread(packed.types);
  const units = yield* spread(packed.units);
  const kinds: Kind[] = [];
  for (let at = 0; at < sizes.length; at++) {
    if (at % SLICE === SLICE - 1) yield;
    kinds.push({ type: types[at] ?? "", size: sizes[at] ?? 1, unit: units[at] ?? "" });
  }
  const texts = yield* splitTexts(packed.labels);
  const labels = new Map<number, string>();
  for (let at = 0; at < labelled.length; at++) {
    if (at % SLICE === SLICE - 1) yield;
    labels.set(labelled[at] ?? 0, texts[at] ?? "");
  }
  const extras = yield* spread(packed.extras);
  const adopted =
    links.kind === "all-nodes" ? links : { ...links, outer: yield* splitTexts(links.outer) };
  return { ids, kinds, kindOf, labels, extras, links: adopted, inner };
}

function* spread({ texts, textOf }: SharedTexts): Generator<undefined, (string | undefined)[]> {
  const once = yield* splitTexts(texts);
  const all: (string | undefined)[] = [];
  for (let at = 0; at < textOf.length; at++) {
    if (at % (5 * SLICE) === 5 * SLICE - 1) yield;
    const text = textOf[at] ?? -1;
    all.push(text < 0 ? undefined : once[text]); // [-1] would be a lookup by the key "-1"
  }
  return all;
}

/** The buffers to transfer, rather than copy, to another thread. */
export const transferOfSubsystem = (packed: PackedSubsystem): ArrayBuffer[] => [
  ...buffersOf(packed.ids, packed.labels, packed.types.texts, packed.units.texts),
  ...buffersOf(packed.extras.texts),
  ...(packed.links.kind === "by-id" ? buffersOf(packed.links.outer) : []),
  ...[
    packed.types.textOf,
    packed.units.textOf,
    packed.extras.textOf,
    packed.sizes,
    packed.kindOf,
    packed.labelled,
    packed.inner,
    ...(packed.links.kind === "by-id" ? [packed.links.firstUse, packed.links.pairs] : []),
  ].map(({ buffer }) => buffer as ArrayBuffer),
];
