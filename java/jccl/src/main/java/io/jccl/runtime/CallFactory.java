package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.DeviceStream;
import io.jccl.Operations;
import io.jccl.ReduceOp;
import io.jccl.Reduction;
import io.jccl.WireFormat;
import io.jccl.runtime.TransfersCall.Transfer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

/** Checks the arguments of operations and creates calls from them. Immutable. */
final class CallFactory implements Operations<OperationCall> {

    private final int rank;
    private final int size;
    private final boolean hasDevice;
    private final DeviceStream stream; // null for the communicator's own stream
    private final WireFormat wire; // of operations that name no format

    CallFactory(int rank, int size, boolean hasDevice, DeviceStream stream, WireFormat wire) {
        this.rank = rank;
        this.size = size;
        this.hasDevice = hasDevice;
        this.stream = stream;
        this.wire = wire;
    }

    /** Returns the communicator's format if it applies to the operation, and {@link WireFormat#EXACT} otherwise. */
    private WireFormat wireOf(DataBuffer send, DataBuffer recv) {
        boolean applies = wire != WireFormat.EXACT
                && WireFormat.supports((send == null ? recv : send).type())
                && !onDevice(send, recv);
        return applies ? wire : WireFormat.EXACT;
    }

    /** Checks that an operation can use a format that the application names, and returns the format. */
    private WireFormat checked(WireFormat format, DataBuffer send, DataBuffer recv) {
        Checks.wire(format, (send == null ? recv : send).type());
        if (format.encoding() != WireFormat.Encoding.EXACT && onDevice(send, recv)) {
            throw new IllegalArgumentException("wire=" + format + " send=" + send + " recv=" + recv
                    + ": operations on device memory are exact; copy the elements to a HostBuffer, or leave the format"
                    + " out");
        }
        return format;
    }

    /** Returns true if the buffers, which may be null, are in device memory, or if a stream orders the operation. */
    private boolean onDevice(DataBuffer send, DataBuffer recv) {
        if (!hasDevice && (Checks.isDevice(send) || Checks.isDevice(recv))) {
            throw Checks.isDevice(send) ? Checks.noDevice("send", send) : Checks.noDevice("recv", recv);
        }
        boolean there = Checks.onDevice(send, recv);
        if (stream != null && !there && (send != null || recv != null)) {
            throw new IllegalArgumentException("send=" + send + " recv=" + recv + " stream=" + stream
                    + ": a stream orders operations on device memory only; issue this one without");
        }
        return there || stream != null;
    }

    @Override
    public OperationCall allReduce(DataBuffer send, DataBuffer recv, ReduceOp op) {
        checkWhole(send, recv);
        Checks.op(op, send.type());
        return reduceToAll(send, recv, op, wireOf(send, recv));
    }

    @Override
    public OperationCall allReduce(DataBuffer send, DataBuffer recv, ReduceOp op, WireFormat format) {
        checkWhole(send, recv);
        Checks.op(op, send.type());
        return reduceToAll(send, recv, op, checked(format, send, recv));
    }

    private OperationCall reduceToAll(DataBuffer send, DataBuffer recv, ReduceOp op, WireFormat format) {
        return collective(Collective.ALL_REDUCE, send.type(), op, send, recv, send.count(), 0, format);
    }

    @Override
    public OperationCall allReduce(DataBuffer send, DataBuffer recv, Reduction reduction) {
        checkWhole(send, recv);
        return reduction(Collective.ALL_REDUCE, reduction, send, recv, null, 0);
    }

    private static void checkWhole(DataBuffer send, DataBuffer recv) {
        Checks.source("send", send);
        Checks.target("recv", recv);
        if (send != recv) {
            Checks.sameCount(send, recv);
        }
    }

    @Override
    public OperationCall allReduce(List<DataBuffer> buffers, ReduceOp op) {
        return fused(Checks.buffers(buffers), op, wire, buffer -> allReduce(buffer, buffer, op));
    }

    @Override
    public OperationCall allReduce(List<DataBuffer> buffers, ReduceOp op, WireFormat format) {
        return fused(Checks.buffers(buffers), op, format, buffer -> allReduce(buffer, buffer, op, format));
    }

    private OperationCall fused(
            List<DataBuffer> all, ReduceOp op, WireFormat format, Function<DataBuffer, OperationCall> one) {
        List<OperationCall> members = new ArrayList<>(all.size());
        for (DataBuffer buffer : all) {
            members.add(one.apply(buffer));
        }
        if (members.size() == 1) {
            return members.get(0);
        }
        OperationCall group = group(members); // refuses host memory together with device memory
        return group.isOnDevice() ? group : new FusedCall(all, op, format);
    }

    @Override
    public OperationCall reduce(DataBuffer send, DataBuffer recv, ReduceOp op, int root) {
        checkReduce(send, recv, root);
        Checks.op(op, send.type());
        return collective(Collective.REDUCE, send.type(), op, send, rank == root ? recv : null, send.count(), root);
    }

    @Override
    public OperationCall reduce(DataBuffer send, DataBuffer recv, Reduction reduction, int root) {
        checkReduce(send, recv, root);
        return reduction(Collective.REDUCE, reduction, send, rank == root ? recv : null, null, root);
    }

    private void checkReduce(DataBuffer send, DataBuffer recv, int root) {
        Checks.root(root, size);
        Checks.source("send", send);
        if (rank == root) {
            Checks.target("recv", recv);
            Checks.sameCount(send, recv);
        }
    }

    @Override
    public OperationCall broadcast(DataBuffer send, DataBuffer recv, int root) {
        DataBuffer from = broadcastSource(send, recv, root);
        return broadcastIn(wireOf(from, recv), from, recv, root);
    }

    @Override
    public OperationCall broadcast(DataBuffer send, DataBuffer recv, int root, WireFormat format) {
        DataBuffer from = broadcastSource(send, recv, root);
        return broadcastIn(checked(format, from, recv), from, recv, root);
    }

    private OperationCall broadcastIn(WireFormat format, DataBuffer from, DataBuffer recv, int root) {
        if (format.encoding() != WireFormat.Encoding.EXACT) {
            Checks.target("recv", recv); // the root's elements are rounded, too
        }
        return collective(Collective.BROADCAST, recv.type(), null, from, recv, recv.count(), root, format);
    }

    /** Checks the arguments of a broadcast. Returns the buffer that this rank sends, which is null unless at the root. */
    private DataBuffer broadcastSource(DataBuffer send, DataBuffer recv, int root) {
        Checks.root(root, size);
        if (rank != root) {
            Checks.target("recv", recv);
            return null;
        }
        Checks.source("send", send);
        if (send != recv) {
            Checks.target("recv", recv);
            Checks.sameCount(send, recv);
        }
        return send;
    }

    @Override
    public OperationCall allGather(DataBuffer send, DataBuffer recv) {
        checkAllGather(send, recv);
        return collective(Collective.ALL_GATHER, send.type(), null, send, recv, send.count(), 0, wireOf(send, recv));
    }

    @Override
    public OperationCall allGather(DataBuffer send, DataBuffer recv, WireFormat format) {
        checkAllGather(send, recv);
        WireFormat applied = checked(format, send, recv);
        return collective(Collective.ALL_GATHER, send.type(), null, send, recv, send.count(), 0, applied);
    }

    private void checkAllGather(DataBuffer send, DataBuffer recv) {
        Checks.source("send", send);
        Checks.target("recv", recv);
        Checks.blocks("recv", recv, "send", send, size);
        Checks.blockOrApart(recv, send, rank * send.count(), "this rank's block of recv");
    }

    @Override
    public OperationCall allGatherV(DataBuffer send, DataBuffer recv, long[] counts) {
        Checks.source("send", send);
        Checks.target("recv", recv);
        long[] mine = blocksOf("recv", recv, "send", send, counts);
        return vector(Collective.ALL_GATHER, null, send, recv, withOffsets(mine), 0, wireOf(send, recv));
    }

    @Override
    public OperationCall allGatherV(DataBuffer send, DataBuffer recv, long[] counts, WireFormat format) {
        Checks.wire(format);
        Checks.source("send", send);
        Checks.target("recv", recv);
        long[] mine = blocksOf("recv", recv, "send", send, counts);
        return vector(Collective.ALL_GATHER, null, send, recv, withOffsets(mine), 0, checked(format, send, recv));
    }

    /**
     * Checks counts against a buffer of all blocks and a buffer of this rank's block. The latter may be a part of the
     * former.
     *
     * @return a copy of the counts
     */
    private long[] blocksOf(String allName, DataBuffer all, String ownName, DataBuffer own, long[] counts) {
        Checks.sameType(all, own);
        long[] mine = Checks.counts("counts", counts, size);
        Checks.total("counts", mine, allName, all);
        Checks.countOfThisRank("counts", mine, rank, ownName, own);
        Checks.blockOrApart(all, own, countsOfLowerRanks(mine), "this rank's block of " + allName);
        return mine;
    }

    @Override
    public OperationCall reduceScatter(DataBuffer buffer, ReduceOp op) {
        Checks.target("buffer", buffer);
        if (buffer.count() % size != 0) {
            throw new IllegalArgumentException("buffer.count=" + buffer.count() + " size=" + size
                    + ": expected a multiple of size; set positions and limits, or use slice");
        }
        long block = buffer.count() / size;
        return reduceScatter(buffer, buffer.slice(rank * block, block), op);
    }

    @Override
    public OperationCall reduceScatter(DataBuffer send, DataBuffer recv, ReduceOp op) {
        checkReduceScatter(send, recv);
        Checks.op(op, send.type());
        return collective(Collective.REDUCE_SCATTER, send.type(), op, send, recv, recv.count(), 0, wireOf(send, recv));
    }

    @Override
    public OperationCall reduceScatter(DataBuffer send, DataBuffer recv, ReduceOp op, WireFormat format) {
        checkReduceScatter(send, recv);
        Checks.op(op, send.type());
        WireFormat applied = checked(format, send, recv);
        return collective(Collective.REDUCE_SCATTER, send.type(), op, send, recv, recv.count(), 0, applied);
    }

    @Override
    public OperationCall reduceScatter(DataBuffer send, DataBuffer recv, Reduction reduction) {
        checkReduceScatter(send, recv);
        long[] counts = new long[size];
        Arrays.fill(counts, recv.count());
        return reduction(Collective.REDUCE_SCATTER, reduction, send, recv, counts, 0);
    }

    private void checkReduceScatter(DataBuffer send, DataBuffer recv) {
        Checks.source("send", send);
        Checks.target("recv", recv);
        Checks.blocks("send", send, "recv", recv, size);
        Checks.blockOrApart(send, recv, rank * recv.count(), "this rank's block of send");
    }

    @Override
    public OperationCall reduceScatterV(DataBuffer send, DataBuffer recv, long[] counts, ReduceOp op) {
        Checks.source("send", send);
        Checks.target("recv", recv);
        Checks.op(op, send.type());
        long[] mine = blocksOf("send", send, "recv", recv, counts);
        return vector(Collective.REDUCE_SCATTER, op, send, recv, withOffsets(mine), 0, wireOf(send, recv));
    }

    @Override
    public OperationCall reduceScatterV(
            DataBuffer send, DataBuffer recv, long[] counts, ReduceOp op, WireFormat format) {
        Checks.wire(format);
        Checks.source("send", send);
        Checks.target("recv", recv);
        Checks.op(op, send.type());
        long[] mine = blocksOf("send", send, "recv", recv, counts);
        return vector(Collective.REDUCE_SCATTER, op, send, recv, withOffsets(mine), 0, checked(format, send, recv));
    }

    @Override
    public OperationCall reduceScatterV(DataBuffer send, DataBuffer recv, long[] counts, Reduction reduction) {
        Checks.source("send", send);
        Checks.target("recv", recv);
        Checks.reduction(reduction);
        long[] mine = blocksOf("send", send, "recv", recv, counts);
        return reduction(Collective.REDUCE_SCATTER, reduction, send, recv, mine, 0);
    }

    /**
     * Returns a collective with a user-defined reduction.
     *
     * @param shards elements that each rank receives; null if all ranks or the root receive everything
     */
    private OperationCall reduction(
            Collective collective, Reduction reduction, DataBuffer send, DataBuffer recv, long[] shards, int root) {
        Checks.reduction(reduction);
        Checks.units(reduction, send, shards);
        if (onDevice(send, recv)) {
            throw new IllegalArgumentException("op=" + reduction + " send=" + send + " stream=" + stream
                    + ": a user-defined reduction works on memory of the host, without a stream; copy the elements"
                    + " to a HostBuffer, or use a ReduceOp");
        }
        return new ReductionCall(collective, reduction, send, recv, shards, root);
    }

    @Override
    public OperationCall scan(DataBuffer send, DataBuffer recv, ReduceOp op) {
        return scan(Collective.SCAN, send, recv, op);
    }

    @Override
    public OperationCall exscan(DataBuffer send, DataBuffer recv, ReduceOp op) {
        return scan(Collective.EXSCAN, send, recv, op);
    }

    private OperationCall scan(Collective collective, DataBuffer send, DataBuffer recv, ReduceOp op) {
        checkWhole(send, recv);
        Checks.op(op, send.type());
        Checks.notAverage(op, "in a scan, each rank would divide by another number");
        DataBuffer to = collective == Collective.EXSCAN && rank == 0 ? null : recv; // there is no lower rank
        return collective(collective, send.type(), op, send, to, send.count(), 0);
    }

    @Override
    public OperationCall allToAll(DataBuffer send, DataBuffer recv) {
        Checks.source("send", send);
        Checks.target("recv", recv);
        Checks.sameType(send, recv);
        if (send.count() != recv.count() || send.count() % size != 0) {
            throw new IllegalArgumentException("send.count=" + send.count() + " recv.count=" + recv.count() + " size="
                    + size + ": expected the same multiple of size in both buffers");
        }
        Checks.apart(send, recv);
        long perPair = send.count() / size;
        return collective(Collective.ALL_TO_ALL, send.type(), null, send, recv, perPair, 0);
    }

    @Override
    public OperationCall allToAllV(
            DataBuffer send,
            long[] sendCounts,
            long[] sendOffsets,
            DataBuffer recv,
            long[] recvCounts,
            long[] recvOffsets) {
        Checks.source("send", send);
        Checks.target("recv", recv);
        Checks.sameType(send, recv);
        Checks.apart(send, recv);
        long[] all = Arrays.copyOf(Checks.counts("sendCounts", sendCounts, size), 4 * size);
        System.arraycopy(Checks.counts("sendOffsets", sendOffsets, size), 0, all, size, size);
        System.arraycopy(Checks.counts("recvCounts", recvCounts, size), 0, all, 2 * size, size);
        System.arraycopy(Checks.counts("recvOffsets", recvOffsets, size), 0, all, 3 * size, size);
        Checks.within("send", sendCounts, sendOffsets, "send", send);
        Checks.within("recv", recvCounts, recvOffsets, "recv", recv);
        Checks.disjoint("recv", recvCounts, recvOffsets);
        if (sendCounts[rank] != recvCounts[rank]) {
            throw new IllegalArgumentException("sendCounts[" + rank + "]=" + sendCounts[rank] + " recvCounts[" + rank
                    + "]=" + recvCounts[rank] + ": what this rank sends to itself it must receive from itself");
        }
        return vector(Collective.ALL_TO_ALL, null, send, recv, all, 0);
    }

    @Override
    public OperationCall gather(DataBuffer send, DataBuffer recv, int root) {
        Checks.root(root, size);
        Checks.source("send", send);
        if (rank == root) {
            Checks.target("recv", recv);
            Checks.blocks("recv", recv, "send", send, size);
            Checks.blockOrApart(recv, send, rank * send.count(), "the root's block of recv");
        }
        DataBuffer to = rank == root ? recv : null;
        return collective(Collective.GATHER, send.type(), null, send, to, send.count(), root);
    }

    @Override
    public OperationCall gatherV(DataBuffer send, DataBuffer recv, long[] counts, int root) {
        Checks.root(root, size);
        Checks.source("send", send);
        if (rank == root) {
            Checks.target("recv", recv);
        }
        long[] mine = blocksAtRoot("recv", recv, "send", send, counts, root);
        return vector(Collective.GATHER, null, send, rank == root ? recv : null, withOffsets(mine), root);
    }

    /** Like {@link #blocksOf}, for collectives in which only the root has the buffer of all blocks. */
    private long[] blocksAtRoot(
            String allName, DataBuffer all, String ownName, DataBuffer own, long[] counts, int root) {
        if (rank == root) {
            return blocksOf(allName, all, ownName, own, counts);
        }
        long[] mine = Checks.counts("counts", counts, size);
        Checks.countOfThisRank("counts", mine, rank, ownName, own);
        return mine;
    }

    @Override
    public OperationCall scatterV(DataBuffer send, long[] counts, DataBuffer recv, int root) {
        Checks.root(root, size);
        Checks.target("recv", recv);
        if (rank == root) {
            Checks.source("send", send);
        }
        long[] mine = blocksAtRoot("send", send, "recv", recv, counts, root);
        return vector(Collective.SCATTER, null, rank == root ? send : null, recv, withOffsets(mine), root);
    }

    @Override
    public OperationCall gatherV(DataBuffer send, DataBuffer recv, long[] counts, long[] offsets, int root) {
        Checks.root(root, size);
        checkTransfer(false, root, "send", send);
        if (rank != root) {
            return message(send, root, null, root);
        }
        checkTransfer(true, root, "recv", recv);
        checkPlaces("recv", recv, "send", send, counts, offsets);
        Checks.disjoint("", counts, offsets);
        return withEach(true, recv, counts, offsets, send);
    }

    @Override
    public OperationCall scatterV(DataBuffer send, long[] counts, long[] offsets, DataBuffer recv, int root) {
        Checks.root(root, size);
        checkTransfer(true, root, "recv", recv);
        if (rank != root) {
            return message(null, root, recv, root);
        }
        checkTransfer(false, root, "send", send);
        checkPlaces("send", send, "recv", recv, counts, offsets);
        return withEach(false, send, counts, offsets, recv);
    }

    /** Checks the places of all blocks in the root's large buffer, and the root's own block. */
    private void checkPlaces(
            String allName, DataBuffer all, String ownName, DataBuffer own, long[] counts, long[] offsets) {
        Checks.sameType(all, own);
        Checks.counts("counts", counts, size);
        Checks.counts("offsets", offsets, size);
        Checks.within("", counts, offsets, allName, all);
        Checks.countOfThisRank("counts", counts, rank, ownName, own);
        Checks.blockOrApart(all, own, offsets[rank], "the root's block of " + allName);
    }

    /**
     * Returns the root's transfers with all ranks.
     *
     * @param receiving true if blocks come from the ranks; false if they go to them
     * @param own the root's own elements; nothing moves if this is the root's block of {@code all}
     */
    private OperationCall withEach(boolean receiving, DataBuffer all, long[] counts, long[] offsets, DataBuffer own) {
        List<Transfer> transfers = new ArrayList<>(size + 1);
        for (int peer = 0; peer < size; peer++) {
            DataBuffer block = all.slice(offsets[peer], counts[peer]);
            if (peer != rank) {
                transfers.add(new Transfer(receiving, peer, block));
            } else if (!Aliasing.isSame(block, own)) {
                transfers.add(new Transfer(receiving, rank, block));
                transfers.add(new Transfer(!receiving, rank, own));
            }
        }
        return transfers.isEmpty() ? group(List.of()) : transfers(transfers);
    }

    @Override
    public OperationCall scatter(DataBuffer send, DataBuffer recv, int root) {
        Checks.root(root, size);
        Checks.target("recv", recv);
        if (rank == root) {
            Checks.source("send", send);
            Checks.blocks("send", send, "recv", recv, size);
            Checks.blockOrApart(send, recv, rank * recv.count(), "the root's block of send");
        }
        DataBuffer from = rank == root ? send : null;
        return collective(Collective.SCATTER, recv.type(), null, from, recv, recv.count(), root);
    }

    @Override
    public OperationCall send(int peer, DataBuffer buffer) {
        notAlone("send", peer);
        checkTransfer(false, peer, "buffer", buffer);
        return message(buffer, peer, null, peer);
    }

    @Override
    public OperationCall recv(int peer, DataBuffer buffer) {
        notAlone("recv", peer);
        checkTransfer(true, peer, "buffer", buffer);
        return message(null, peer, buffer, peer);
    }

    @Override
    public OperationCall sendReceive(DataBuffer send, int to, DataBuffer recv, int from) {
        checkSendReceive(send, to, recv, from);
        if ((to == rank) != (from == rank) || to == rank && send.bytes() != recv.bytes()) {
            throw new IllegalArgumentException("to=" + to + " from=" + from + " rank=" + rank + " send=" + send
                    + " recv=" + recv + ": what a rank sends to itself it must receive in the same call");
        }
        return message(send, to, recv, from);
    }

    void checkSendReceive(DataBuffer send, int to, DataBuffer recv, int from) {
        checkTransfer(false, to, "send", send);
        checkTransfer(true, from, "recv", recv);
        Checks.apart(send, recv);
    }

    /**
     * Returns the call of a send, a receive or both.
     *
     * @param send null if nothing is sent
     * @param recv null if nothing is received
     */
    private OperationCall message(DataBuffer send, int to, DataBuffer recv, int from) {
        if (!onDevice(send, recv)) {
            return new SendReceiveCall(send, to, recv, from);
        }
        List<Transfer> transfers = new ArrayList<>(2);
        if (send != null) {
            transfers.add(new Transfer(false, to, send));
        }
        if (recv != null) {
            transfers.add(new Transfer(true, from, recv));
        }
        return new TransfersCall(true, transfers);
    }

    private void notAlone(String call, int peer) {
        if (peer == rank) {
            throw new IllegalArgumentException("peer=" + peer + " rank=" + rank + ": a " + call
                    + " to itself waits for ever; use sendReceive, or put both sides into one group");
        }
    }

    @Override
    public OperationCall barrier() {
        return collective(Collective.BARRIER, DataType.INT8, null, null, null, 0, 0);
    }

    /** Returns one side of a point-to-point transfer. */
    Transfer transfer(boolean receiving, int peer, DataBuffer buffer) {
        checkTransfer(receiving, peer, "buffer", buffer);
        return new Transfer(receiving, peer, buffer);
    }

    private void checkTransfer(boolean receiving, int peer, String name, DataBuffer buffer) {
        Checks.peer(peer, size);
        if (receiving) {
            Checks.target(name, buffer);
        } else {
            Checks.source(name, buffer);
        }
    }

    OperationCall transfers(List<Transfer> transfers) {
        requireOwnPairs(transfers);
        long onDevice =
                transfers.stream().filter(t -> onDevice(t.buffer(), t.buffer())).count();
        if (onDevice != 0 && onDevice != transfers.size()) {
            throw new IllegalArgumentException("transfers=" + transfers.size() + " onDevice=" + onDevice
                    + ": one group sends and receives memory of devices or of the host; use a group for each");
        }
        return new TransfersCall(onDevice != 0, transfers);
    }

    /** Checks that this rank receives everything that it sends to itself in the same group, in the same order. */
    private void requireOwnPairs(List<Transfer> transfers) {
        List<Long> sent = ownBytes(transfers, false);
        List<Long> received = ownBytes(transfers, true);
        if (!sent.equals(received)) {
            throw new IllegalArgumentException("rank=" + rank + " sendBytes=" + sent + " recvBytes=" + received
                    + ": what a rank sends to itself it must receive in the same group, in the same order");
        }
    }

    private List<Long> ownBytes(List<Transfer> transfers, boolean receiving) {
        return transfers.stream()
                .filter(one -> one.peer() == rank && one.receiving() == receiving)
                .map(one -> one.buffer().bytes())
                .toList();
    }

    private long countsOfLowerRanks(long[] counts) {
        long sum = 0;
        for (int i = 0; i < rank; i++) {
            sum += counts[i];
        }
        return sum;
    }

    /** Returns the counts, then the offsets of blocks that follow each other. */
    private static long[] withOffsets(long[] counts) {
        long[] all = Arrays.copyOf(counts, 2 * counts.length);
        for (int i = 1; i < counts.length; i++) {
            all[counts.length + i] = all[counts.length + i - 1] + counts[i - 1];
        }
        return all;
    }

    /** Returns a group of calls that are issued as one. Either all calls or none work on device memory. */
    OperationCall group(List<OperationCall> members) {
        long onDevice = members.stream().filter(OperationCall::isOnDevice).count();
        if (onDevice != 0 && onDevice != members.size()) {
            throw new IllegalArgumentException("operations=" + members.size() + " onDevice=" + onDevice
                    + ": the operations of one group work on memory of devices, or of the host; use a group for each");
        }
        return new GroupCall(onDevice != 0, members);
    }

    private OperationCall collective(
            Collective collective, DataType type, ReduceOp op, DataBuffer send, DataBuffer recv, long count, int root) {
        return collective(collective, type, op, send, recv, count, root, WireFormat.EXACT);
    }

    private OperationCall collective(
            Collective collective,
            DataType type,
            ReduceOp op,
            DataBuffer send,
            DataBuffer recv,
            long count,
            int root,
            WireFormat format) {
        int signature = Signatures.of(collective, type, op, format);
        return new CollectiveCall(signature, onDevice(send, recv), send, recv, count, root, format.seed());
    }

    private OperationCall vector(
            Collective collective, ReduceOp op, DataBuffer send, DataBuffer recv, long[] counts, int root) {
        return vector(collective, op, send, recv, counts, root, WireFormat.EXACT);
    }

    private OperationCall vector(
            Collective collective,
            ReduceOp op,
            DataBuffer send,
            DataBuffer recv,
            long[] counts,
            int root,
            WireFormat format) {
        int signature = Signatures.of(collective, (send == null ? recv : send).type(), op, format);
        return new VectorCall(signature, onDevice(send, recv), send, recv, counts, root, format.seed());
    }
}
