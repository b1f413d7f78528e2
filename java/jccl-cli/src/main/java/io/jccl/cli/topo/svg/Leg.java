package io.jccl.cli.topo.svg;

import io.jccl.cli.topo.Wire;

/**
 * A vertical segment of a link, between two strips.
 *
 * @param index its number among all legs
 * @param wire the link
 * @param upper the strip at its upper end
 * @param lower the strip at its lower end
 * @param anchor the strip at whose edge its horizontal position is chosen
 * @param labelled true if the link's bandwidth is written next to this segment
 */
record Leg(int index, Wire wire, String upper, String lower, String anchor, boolean labelled) {

    String opposite(String strip) {
        return upper.equals(strip) ? lower : upper;
    }
}
