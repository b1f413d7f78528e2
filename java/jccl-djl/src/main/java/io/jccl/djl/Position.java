package io.jccl.djl;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * How far a rank has come in its training.
 *
 * <p>A rank takes a step when it knows that all ranks have the averaged gradients. So if any rank has taken a step,
 * every other rank has at least the gradients for it. And if a rank lacks them, no rank has taken the step.
 *
 * @param steps number of steps that the rank has taken
 * @param phase phase of the next step
 * @param epoch number of epochs that have ended
 */
record Position(long steps, Phase phase, int epoch) {

    /** How far a step has come on a rank. */
    enum Phase {
        /** The step has not begun. */
        IDLE,
        /** Gradients are being averaged. */
        AVERAGING,
        /** This rank has averaged its gradients, but does not know whether all other ranks have. */
        AVERAGED
    }

    /** Returns the positions of all ranks, in rank order. */
    List<Position> allGather(Communicator comm) {
        long[] mine = {steps, phase.ordinal(), epoch};
        long[] all = new long[mine.length * comm.size()];
        comm.allGather(DataBuffer.of(mine), DataBuffer.of(all)).await();
        List<Position> positions = new ArrayList<>();
        for (int i = 0; i < all.length; i += mine.length) {
            positions.add(new Position(all[i], Phase.values()[(int) all[i + 1]], (int) all[i + 2]));
        }
        return positions;
    }

    /**
     * Returns the number of steps from which all ranks continue; a rank that has taken one step fewer takes that step
     * now. If all ranks have the averaged gradients of the next step, the number includes that step.
     *
     * @throws IllegalStateException if a rank cannot reach this number by one step
     */
    static long target(List<Position> positions) {
        long most = positions.stream().mapToLong(Position::steps).max().orElseThrow();
        if (positions.stream().allMatch(each -> each.phase == Phase.AVERAGED && each.steps == most)) {
            return most + 1;
        }
        for (int rank = 0; rank < positions.size(); rank++) {
            Position each = positions.get(rank);
            if (each.steps != most && (each.steps != most - 1 || each.phase != Phase.AVERAGED)) {
                throw new IllegalStateException(
                        "rank=" + rank + " steps=" + each.steps + " phase=" + each.phase + ": expected " + most
                                + " steps; every rank recovers with the DataParallel that it has trained with");
            }
        }
        return most;
    }

    /**
     * Returns the largest number of ended epochs of any rank. All ranks continue from that number, because after the
     * recovery all have taken the same steps.
     */
    static int epoch(List<Position> positions) {
        return positions.stream().mapToInt(Position::epoch).max().orElseThrow();
    }
}
