import { limits } from "../../limits.ts";

/** Texts that are joined by commas, slice by slice. */
export class TextSlices {
  readonly #slices: string[] = [];
  #slice: string[] = [];

  /** Others should have their turn before the next text is added. */
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
