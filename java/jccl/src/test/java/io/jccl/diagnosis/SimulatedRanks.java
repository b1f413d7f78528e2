package io.jccl.diagnosis;

import io.jccl.ChannelWait;
import io.jccl.Collective;
import io.jccl.DataType;
import io.jccl.Protocol;
import io.jccl.RankOperation;
import io.jccl.ReduceOp;
import io.jccl.TransportKind;
import io.jccl.WaitFor;
import io.jccl.control.OperationRecord;
import io.jccl.control.RankStatus;
import io.jccl.control.StatusSource;
import io.jccl.rendezvous.AwaitedRanks;
import io.jccl.status.Absentee;
import io.jccl.status.CommunicatorView;
import io.jccl.status.PeerAddress;
import io.jccl.status.RankSnapshot;
import io.jccl.wire.LastEntered;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/** Makes samples of simulated communicators of any size, with eight ranks on each host. */
final class SimulatedRanks {

    private static final int RANKS_OF_HOST = 8;
    private static final long SECOND = 1_000_000_000L;

    private final int size;
    private final SortedMap<Integer, RankView> ranks = new TreeMap<>();
    private final List<AwaitedRanks.Waiting> awaited = new ArrayList<>();
    private String call = ""; // the call that later added ranks are in; empty for none
    private CommunicatorView.Pace pace = CommunicatorView.Pace.UNKNOWN; // of ranks that are added later

    /** Makes ranks that all wait in an operation, each for the rank before it. */
    SimulatedRanks(int size, long sequence) {
        this.size = size;
        for (int rank = 0; rank < size; rank++) {
            waits(rank, sequence, (rank + size - 1) % size, 4 * SECOND + rank * 1_000_000L);
        }
    }

    /**
     * Sets the pace of the ranks that are added from now on: their time inside each operation, and between two
     * operations.
     */
    SimulatedRanks pace(long insideNanos, long outsideNanos) {
        pace = new CommunicatorView.Pace(10, 10 * insideNanos, 10 * outsideNanos);
        return this;
    }

    /**
     * Makes ranks that are in a call that creates another communicator. They wait there for the {@code missing} ranks
     * and for {@code processes} processes that join.
     */
    static SimulatedRanks inCall(int size, String call, SortedSet<Integer> missing, int processes) {
        SimulatedRanks ranks = new SimulatedRanks(size, 1);
        for (int rank = 0; rank < size; rank++) {
            ranks.call = missing.contains(rank) ? "" : call;
            ranks.computes(rank, 1);
        }
        ranks.awaited.add(new AwaitedRanks.Waiting("3f2a91c0", "the others are in a call", size, missing, processes));
        return ranks;
    }

    CommunicatorSample sample() {
        return new CommunicatorSample("3f2a91c0", "77aa01bc", 0, size, ranks, awaited);
    }

    private static String host(int rank) {
        return "node" + rank / RANKS_OF_HOST;
    }

    /** Makes a rank wait for {@code peer} in an operation. */
    SimulatedRanks waits(int rank, long sequence, int peer, long nanos) {
        TransportKind transport =
                rank / RANKS_OF_HOST == peer / RANKS_OF_HOST ? TransportKind.SHM : TransportKind.SOCKET;
        ChannelWait wait = new ChannelWait(rank, 0, peer, transport, WaitFor.DATA, Protocol.SIMPLE, 17);
        RankOperation operation = operation(rank, sequence, 1 << 20, RankOperation.State.RUNNING);
        return put(rank, sequence, List.of(wait), List.of(nanos), Optional.of(operation), nanos);
    }

    /** Makes a rank compute after its last operation. */
    SimulatedRanks computes(int rank, long last) {
        return put(
                rank,
                last,
                List.of(),
                List.of(),
                Optional.of(operation(rank, last, 1 << 20, RankOperation.State.DONE)),
                -1);
    }

    /** Makes a rank run an operation with {@code count} elements, which can differ from the other ranks' count. */
    SimulatedRanks differs(int rank, long sequence, long count, long nanos) {
        int peer = (rank + size - 1) % size;
        ChannelWait wait = new ChannelWait(rank, 0, peer, TransportKind.SHM, WaitFor.DATA, Protocol.SIMPLE, 17);
        return put(
                rank,
                sequence,
                List.of(wait),
                List.of(nanos),
                Optional.of(operation(rank, sequence, count, RankOperation.State.RUNNING)),
                nanos);
    }

    /** Makes a rank absent: the sample has the reason, and nothing about the rank's operations. */
    SimulatedRanks absent(int rank, Absentee.Reason reason) {
        PeerAddress peer = new PeerAddress(1000 + rank + "-x", host(rank), "");
        ranks.put(
                rank,
                new RankView(
                        rank,
                        host(rank),
                        1000 + rank,
                        Optional.empty(),
                        Optional.of(new Absentee("3f2a91c0", rank, peer, reason, "details"))));
        return this;
    }

    private static RankOperation operation(int rank, long sequence, long count, RankOperation.State state) {
        return new RankOperation(
                rank, sequence, state, Collective.ALL_REDUCE, DataType.FLOAT32, ReduceOp.SUM, count, 0);
    }

    private SimulatedRanks put(
            int rank,
            long last,
            List<ChannelWait> waits,
            List<Long> waitNanos,
            Optional<RankOperation> operation,
            long nanos) {
        StatusSource source = new StatusSource() {
            @Override
            public LastEntered lastEntered() {
                return new LastEntered(last, 0);
            }

            /** Ranks that called the same operation have the same fingerprint. */
            @Override
            public Optional<OperationRecord> recordAt(long sequence) {
                if (sequence < 1 || sequence > last) {
                    return Optional.empty();
                }
                RankOperation own = operation.orElseThrow();
                RankOperation at =
                        sequence == own.sequence() ? own : operation(rank, sequence, 1 << 20, RankOperation.State.DONE);
                return Optional.of(new OperationRecord(sequence * 1_000_003 + at.count(), at));
            }

            @Override
            public List<ChannelWait> waitingRows() {
                return waits;
            }
        };
        Optional<CommunicatorView.UnderWay> underWay = operation
                .filter(it -> nanos >= 0)
                .map(it -> new CommunicatorView.UnderWay(it.call(), it.sequence(), nanos));
        RankSnapshot snapshot = new RankSnapshot(
                "3f2a91c0",
                "77aa01bc",
                0,
                size,
                RankSnapshot.Phase.RUNNING,
                call,
                100 * SECOND,
                "",
                new TreeSet<>(),
                RankStatus.of(rank, source, waits, last),
                new ArrayList<>(waitNanos),
                new LastEntered(nanos < 0 ? last : last - 1, 0),
                underWay,
                List.of(new CommunicatorView.Traffic(TransportKind.SHM, 7, 1 << 30, 12, SECOND)),
                new CommunicatorView.Totals(last, last << 22, last * 1_000_000),
                pace);
        ranks.put(rank, new RankView(rank, host(rank), 1000 + rank, Optional.of(snapshot), Optional.empty()));
        return this;
    }
}
