package io.jccl.cli.topo.svg;

import java.util.List;

/**
 * One step of a route: from the box of one node over legs and strips into the box of another.
 *
 * @param group the number of the channel group it belongs to
 * @param legs the legs in order, at least one
 * @param strips what the legs join, one more than there are legs; the first and the last are nodes
 * @param arrow whether data flows towards the last node only
 */
record Trace(int group, List<Leg> legs, List<String> strips, boolean arrow) {

    /** The nodes that are visited, in order. */
    List<String> nodes(Wiring wiring) {
        return strips.stream().filter(id -> wiring.strip(id).isNode()).toList();
    }
}
