// Future tasks in the order of their moments; tasks of one moment come in the order in which they were put in.

export class Queue {
  #heap = [];
  #put = 0;

  put(at, task) {
    this.#put += 1;
    const heap = this.#heap;
    let place = heap.push({ at, order: this.#put, task }) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (before(heap[parent], heap[place])) break;
      [heap[parent], heap[place]] = [heap[place], heap[parent]];
      place = parent;
    }
  }

  /** Removes and returns the first task that is due by `until`; none if none is due. */
  take(until) {
    const heap = this.#heap;
    if (heap.length === 0 || heap[0].at > until) return undefined;
    const first = heap[0];
    const last = heap.pop();
    if (heap.length > 0) {
      heap[0] = last;
      sink(heap);
    }
    return first;
  }
}

const before = (one, other) => one.at < other.at || (one.at === other.at && one.order < other.order);

function sink(heap) {
  for (let place = 0; ; ) {
    const left = 2 * place + 1;
    const right = left + 1;
    let least = place;
    if (left < heap.length && before(heap[left], heap[least])) least = left;
    if (right < heap.length && before(heap[right], heap[least])) least = right;
    if (least === place) return;
    [heap[least], heap[place]] = [heap[place], heap[least]];
    place = least;
  }
}
