package io.jccl.cli.topo.svg;

import java.util.List;

/**
 * One step of a route: from the box of one node along legs and strips to the box of another.
 *
 * @param group number of its channel group
 * @param legs the legs in order, at least one
 * @param strips the strips that the legs connect, one more than there are legs; the first and the last are nodes
 * @param arrow true if data flows only towards the last node
 */
record Trace(int group, List<Leg> legs, List<String> strips, boolean arrow) {

    /** Returns the nodes that are visited, in order. */
    List<String> nodes(Wiring wiring) {
        return strips.stream().filter(id -> wiring.strip(id).isNode()).toList();
    }
}
