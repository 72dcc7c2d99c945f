// Random numbers from a seed (sfc32), so that a run can be replayed exactly.

export class Dice {
  #a;
  #b;
  #c;
  #count;

  constructor(seed) {
    this.#a = seed >>> 0;
    this.#b = Math.floor(seed / 2 ** 32) >>> 0;
    this.#c = 0x9e3779b9;
    this.#count = 1;
    for (let turn = 0; turn < 12; turn += 1) this.#draw();
  }

  #draw() {
    const drawn = (this.#a + this.#b + this.#count) >>> 0;
    this.#count = (this.#count + 1) >>> 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + drawn) >>> 0;
    return drawn;
  }

  /** A whole number from `least` to `most`, both included. */
  between(least, most) {
    return least + Math.floor((this.#draw() / 2 ** 32) * (most - least + 1));
  }

  /** A random item of a list. */
  pick(list) {
    return list[this.between(0, list.length - 1)];
  }

  /** 64 bits. */
  bits64() {
    return (BigInt(this.#draw()) << 32n) | BigInt(this.#draw());
  }
}
