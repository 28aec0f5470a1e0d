import { limits } from "../../limits.ts";

/** Joins texts by commas, slice by slice. */
export class TextSlices {
  readonly #slices: string[] = [];
  #slice: string[] = [];

  /** Whether other work should get a turn before the next text. */
  get isSliceFull(): boolean {
    return this.#slice.length >= limits.verticesPerSliceMax;
  }

  add(text: string): void {
    if (this.isSliceFull) this.#close();
    this.#slice.push(text);
  }

  end(): string {
    this.#close();
    return this.#slices.join(",");
  }

  #close(): void {
    if (this.#slice.length === 0) return;
    this.#slices.push(this.#slice.join(","));
    this.#slice = [];
  }
}
