// What is counted of each actor for its ground-truth box, in whole numbers: atomic,
// they don't depend on the order of work.

// Tally is an actor's. It has the first and last columns and rows that show it, how many pixels
// do, and how many of its points are hidden.
struct Tally {
    uint left, top, right, bottom, pixels, hidden;
};

layout(std430, binding = 0) buffer Tallies { Tally tallies[]; };
