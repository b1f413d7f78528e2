package io.jccl.cli.perf;

import io.jccl.Collective;
import io.jccl.ReduceOp;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The library with which JCCL is compared, which is NCCL.
 *
 * @param library the file of the library; empty to look in the usual places
 */
record Peer(Optional<Path> library) {

    private static final String NCCL = "nccl";

    static Peer parse(String name, Optional<Path> library) {
        if (!NCCL.equalsIgnoreCase(name)) {
            throw new IllegalArgumentException("peer=\"" + name + "\": unknown; expected nccl");
        }
        return new Peer(library);
    }

    /** Checks that the peer can execute what a run measures. */
    static void require(PerfCollective collective, MemoryKind memory, ReduceOp op) {
        if (memory != MemoryKind.DEVICE) {
            throw new IllegalArgumentException("peer=nccl memory=" + memory.label()
                    + ": expected memory=device, because NCCL works on the memory of GPUs; add --memory device");
        }
        boolean known = !collective.vector() && collective.kind() != Collective.BARRIER;
        if (!known) {
            throw new IllegalArgumentException("peer=nccl collective=" + collective.label()
                    + ": NCCL has no such operation; name another collective, or leave --peer out");
        }
        if (collective.reduces() && isBitwise(op)) {
            throw new IllegalArgumentException(
                    "peer=nccl op=" + op.label() + ": NCCL has no such operation; expected sum, prod, min, max or avg");
        }
    }

    private static boolean isBitwise(ReduceOp op) {
        return switch (op) {
            case BAND, BOR, BXOR -> true;
            default -> false;
        };
    }
}
