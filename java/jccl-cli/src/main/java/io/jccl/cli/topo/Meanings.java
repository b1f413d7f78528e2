package io.jccl.cli.topo;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import io.jccl.search.Pattern;
import io.jccl.topology.LinkType;
import io.jccl.topology.NodeType;
import io.jccl.topology.PathType;

/** Explains types and signs for legends. */
public final class Meanings {

    private Meanings() {}

    /** Describes a type of node. */
    public static String of(NodeType type) {
        return switch (type) {
            case GPU -> "GPU, numbered by rank";
            case HOST -> "rank in host memory";
            case CPU -> "NUMA node: CPU and its memory";
            case PCI -> "PCI switch";
            case NVS -> "NVLink switches";
            case NIC -> "network card";
            case NET -> "network port";
        };
    }

    /** Describes a type of link. */
    public static String of(LinkType type) {
        return switch (type) {
            case NVL -> "NVLink";
            case C2C -> "chip to chip (C2C)";
            case PCI -> "PCI Express";
            case MEM -> "memory";
            case SYS -> "between NUMA nodes";
            case NET -> "network";
            case LOC -> "inside one device";
        };
    }

    /** Describes how an algorithm moves data. */
    static String of(Algorithm algorithm) {
        return switch (algorithm) {
            case RING -> "every rank sends to the next";
            case TREE -> "ranks reduce up two binary trees, and broadcast down them";
            case DIRECT -> "data moves directly between each two ranks";
            case COLLNET_DIRECT -> "the network between hosts reduces; each rank of a host sends to a leader, on GPUs in a tree";
            case COLLNET_CHAIN -> "the same, with the ranks of a host in a chain";
            case NVLS -> "the NVLink switch reduces, and sends results to all";
        };
    }

    /** Describes how a protocol marks data that has arrived. */
    static String of(Protocol protocol) {
        return switch (protocol) {
            case LL -> "a flag in every 8 bytes: lowest latency, half the bandwidth";
            case LL128 -> "a flag in every 128 bytes: low latency, 94 % of the bandwidth";
            case SIMPLE -> "bulk data and one counter: full bandwidth";
        };
    }

    /** Describes in which direction data flows between the ranks of a group of channels. */
    static String ofArrow(ChannelGroup group) {
        if (group.pattern() != Pattern.RING) {
            return "a chain: sums flow to its first rank, results back";
        }
        return group.oneWay() ? "a ring one way" : "a ring; some channels follow it one way, others the other way";
    }

    /** Describes where a type of path runs. */
    public static String of(PathType type) {
        return switch (type) {
            case LOC -> "inside one GPU";
            case NVL -> "over NVLink";
            case NVB -> "over NVLink, in part through a third GPU";
            case C2C -> "over chip-to-chip links";
            case PIX -> "through one PCI switch";
            case PXB -> "through several PCI switches";
            case P2C -> "over the chip-to-chip link and the CPU";
            case PXN -> "in part through the GPU beside the card";
            case PHB -> "through the CPU";
            case SYS -> "across CPUs";
            case NET -> "where the network would be faster";
            case DIS -> "not connected";
        };
    }
}
