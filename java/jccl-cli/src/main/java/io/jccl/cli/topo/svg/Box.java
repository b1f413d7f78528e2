package io.jccl.cli.topo.svg;

/**
 * A rectangle.
 *
 * @param x x of its left edge
 * @param y y of its upper edge
 * @param width width to the right
 * @param height height downwards
 */
record Box(double x, double y, double width, double height) {

    double right() {
        return x + width;
    }

    double bottom() {
        return y + height;
    }

    double middleX() {
        return x + width / 2;
    }

    double middleY() {
        return y + height / 2;
    }

    /** Returns true if the two boxes share more than an edge. */
    boolean overlaps(Box other) {
        return x < other.right() && other.x < right() && y < other.bottom() && other.y < bottom();
    }

    /** Returns true if the other box lies inside this one. */
    boolean contains(Box other) {
        return x <= other.x && y <= other.y && right() >= other.right() && bottom() >= other.bottom();
    }

    /** Returns this box, larger by a margin on every side. */
    Box grow(double margin) {
        return new Box(x - margin, y - margin, width + 2 * margin, height + 2 * margin);
    }

    /** Returns the smallest box that contains both. */
    Box union(Box other) {
        double left = Math.min(x, other.x);
        double top = Math.min(y, other.y);
        return new Box(left, top, Math.max(right(), other.right()) - left, Math.max(bottom(), other.bottom()) - top);
    }
}
