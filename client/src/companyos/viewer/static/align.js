"use strict";
// Alignment of the steps of two episodes.
(() => {
  // A call is identified by its tool and by its arguments that name an entity, such as `key` and `owner_id`.
  const IDENTIFIER = /(^|_)(ids?|keys?|refs?|codes?|subject)$/;
  const identify = (step) =>
    JSON.stringify([step.tool, ...Object.entries(step.arguments ?? {}).filter(([name]) => IDENTIFIER.test(name)).sort(([one], [other]) => (one < other ? -1 : 1))]);

  // Pairs [left, right] of the longest common subsequence of calls; a step without a counterpart is paired with undefined.
  Viewer.align = (left, right) => {
    const [one, other] = [left.map(identify), right.map(identify)];
    const width = other.length + 1;
    const lengths = new Uint32Array((one.length + 1) * width); // of the common subsequence of the steps from (i, j) on
    for (let i = one.length - 1; i >= 0; i--) {
      for (let j = other.length - 1; j >= 0; j--) {
        lengths[i * width + j] = one[i] === other[j] ? lengths[(i + 1) * width + j + 1] + 1 : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
      }
    }
    const pairs = [];
    let [i, j] = [0, 0];
    while (i < one.length || j < other.length) {
      if (i < one.length && j < other.length && one[i] === other[j]) pairs.push([left[i++], right[j++]]);
      else if (j === other.length || (i < one.length && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])) pairs.push([left[i++], undefined]);
      else pairs.push([undefined, right[j++]]);
    }
    return pairs;
  };
})();
