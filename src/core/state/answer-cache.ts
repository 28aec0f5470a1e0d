import { limits } from "../../limits.ts";

/** Answers by the text of the question. Drops all of them when they exceed a number or a size. */
export class AnswerCache<Answer> {
  readonly #answers = new Map<string, Answer>();
  #chars = 0;

  get(question: string): Answer | undefined {
    return this.#answers.get(question);
  }

  has(question: string): boolean {
    return this.#answers.has(question);
  }

  set(question: string, answer: Answer): void {
    const isFull =
      this.#answers.size >= limits.possibleKnownMax ||
      this.#chars + question.length > limits.possibleKnownCharsMax;
    if (isFull) this.clear();
    this.#answers.set(question, answer);
    this.#chars += question.length;
  }

  clear(): void {
    this.#answers.clear();
    this.#chars = 0;
  }
}

/** Whether a request is satisfiable by any registered node or cluster, and why not. */
export class PossibleAnswers {
  readonly isPossible = new AnswerCache<boolean>();
  readonly whyNever = new AnswerCache<readonly string[]>();

  /** A node or a cluster changed. */
  clear(): void {
    this.isPossible.clear();
    this.whyNever.clear();
  }
}
