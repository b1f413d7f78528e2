package io.jccl.cli.topo.svg;

import io.jccl.cli.topo.Wire;

/**
 * A vertical segment of a link, between two strips.
 *
 * @param index its place among all legs
 * @param wire the link
 * @param upper the strip at its upper end
 * @param lower the strip at its lower end
 * @param anchor the strip at whose edge it has its place
 * @param labelled whether the link's bandwidth stands beside this segment
 */
record Leg(int index, Wire wire, String upper, String lower, String anchor, boolean labelled) {

    String opposite(String strip) {
        return upper.equals(strip) ? lower : upper;
    }
}
