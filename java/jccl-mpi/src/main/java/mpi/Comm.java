package mpi;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import io.jccl.Reduction;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Processes that communicate: messages, and calls that all of them make in the same order. A call whose name begins
 * with i starts what the call without the i waits for; the buffers belong to it until then. The calls with fewer
 * arguments work in place: the elements of this process are where its result will be.
 */
public abstract class Comm extends PointToPoint implements Cloneable {

    private @Nullable Communicator comm;
    private @Nullable Group group;

    Comm() {}

    /** Begins to communicate over a communicator of the library. */
    final void open(Communicator opened, @Nullable Comm parent) {
        int[] members = new int[opened.size()];
        int self = parent == null ? opened.rank() : parent.group.members()[parent.comm.rank()];
        opened.allGather(DataBuffer.of(new int[] {self}), DataBuffer.of(members))
                .await();
        group = new Group(members, self);
        comm = opened;
    }

    @Override
    final Communicator comm() throws MPIException {
        if (comm == null) {
            throw new MPIException(MPI.ERR_COMM, "the communicator is null: before Init, after free, or of no split");
        }
        return comm;
    }

    /** Returns the rank of this process. */
    public final int getRank() throws MPIException {
        return comm().rank();
    }

    /** Returns the number of processes. */
    public final int getSize() throws MPIException {
        return comm().size();
    }

    /** Returns true for a communicator that cannot be used. */
    public final boolean isNull() {
        return comm == null;
    }

    /** Returns false. */
    public final boolean isInter() {
        return false;
    }

    /** Returns the processes. */
    public final Group getGroup() throws MPIException {
        comm();
        return group.copy();
    }

    /** Compares the groups of two communicators; {@link MPI#IDENT} means the same communicator. */
    public static int compare(Comm first, Comm second) throws MPIException {
        int groups = Group.compare(first.getGroup(), second.getGroup());
        return groups == MPI.IDENT && first != second ? MPI.CONGRUENT : groups;
    }

    /** Returns a communicator of the same processes, whose messages are separate. */
    public abstract Intracomm dup() throws MPIException;

    /** The same as {@link #dup()}. */
    @Override
    public Intracomm clone() {
        try {
            return dup();
        } catch (MPIException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Does nothing: failures are exceptions always. */
    public final void setErrhandler(Errhandler handler) {}

    /** Ends this communicator. It is null afterwards. */
    public void free() throws MPIException {
        Communicator ended = comm();
        comm = null;
        try {
            ended.close();
        } catch (RuntimeException e) {
            throw MPIException.of(e);
        }
    }

    /** Ends this process with an exit status, and makes all operations of the others fail. */
    public final void abort(int status) throws MPIException {
        comm().abort("MPI abort, exit status " + status);
        System.exit(status);
    }

    public final void barrier() throws MPIException {
        iBarrier().waitFor();
    }

    public final Request iBarrier() throws MPIException {
        return start(() -> {}, comm()::barrier);
    }

    public final void bcast(Object buffer, int count, Datatype type, int root) throws MPIException {
        iBcast(buffer, count, type, root).waitFor();
    }

    public final Request iBcast(Object buffer, int count, Datatype type, int root) throws MPIException {
        Communicator c = comm();
        Region region = Region.of(buffer, 0, count, type);
        return start(region::received, () -> c.broadcast(region.data(), root));
    }

    public final void gather(Object s, int sCount, Datatype sType, Object r, int rCount, Datatype rType, int root)
            throws MPIException {
        iGather(s, sCount, sType, r, rCount, rType, root).waitFor();
    }

    public final Request iGather(Object s, int sCount, Datatype sType, Object r, int rCount, Datatype rType, int root)
            throws MPIException {
        Region sent = Region.of(s, 0, sCount, sType);
        return gather(sent, isRoot(root) ? Region.of(r, 0, rCount * getSize(), rType) : null, root);
    }

    public final void gather(Object buffer, int count, Datatype type, int root) throws MPIException {
        iGather(buffer, count, type, root).waitFor();
    }

    public final Request iGather(Object buffer, int count, Datatype type, int root) throws MPIException {
        if (!isRoot(root)) {
            return gather(Region.of(buffer, 0, count, type), null, root);
        }
        Region own = Region.copyOf(buffer, count * getRank(), count, type);
        return gather(own, Region.of(buffer, 0, count * getSize(), type), root);
    }

    private Request gather(Region sent, @Nullable Region received, int root) throws MPIException {
        Communicator c = comm();
        return start(
                received == null ? () -> {} : received::received,
                () -> c.gather(sent.data(), received == null ? null : received.data(), root));
    }

    public final void gatherv(
            Object s, int sCount, Datatype sType, Object r, int[] counts, int[] places, Datatype rType, int root)
            throws MPIException {
        iGatherv(s, sCount, sType, r, counts, places, rType, root).waitFor();
    }

    public final Request iGatherv(
            Object s, int sCount, Datatype sType, Object r, int[] counts, int[] places, Datatype rType, int root)
            throws MPIException {
        return gatherv(Region.of(s, 0, sCount, sType), r, counts, places, rType, root);
    }

    /** The root's part of a gather in place. */
    public final void gatherv(Object r, int[] counts, int[] places, Datatype type, int root) throws MPIException {
        iGatherv(r, counts, places, type, root).waitFor();
    }

    public final Request iGatherv(Object r, int[] counts, int[] places, Datatype type, int root) throws MPIException {
        int rank = getRank();
        return gatherv(Region.copyOf(r, places[rank], counts[rank], type), r, counts, places, type, root);
    }

    /** The part of the other processes in a gather in place. */
    public final void gatherv(Object s, int count, Datatype type, int root) throws MPIException {
        iGatherv(s, count, type, root).waitFor();
    }

    public final Request iGatherv(Object s, int count, Datatype type, int root) throws MPIException {
        return gatherv(Region.of(s, 0, count, type), s, new int[0], new int[0], type, root);
    }

    private Request gatherv(Region sent, Object r, int[] counts, int[] places, Datatype type, int root)
            throws MPIException {
        Communicator c = comm();
        if (!isRoot(root)) {
            return start(() -> {}, () -> c.gatherV(sent.data(), null, null, null, root));
        }
        Region received = whole(r, counts, places, type);
        return start(
                received::received, () -> c.gatherV(sent.data(), received.data(), longs(counts), longs(places), root));
    }

    public final void scatter(Object s, int sCount, Datatype sType, Object r, int rCount, Datatype rType, int root)
            throws MPIException {
        iScatter(s, sCount, sType, r, rCount, rType, root).waitFor();
    }

    public final Request iScatter(Object s, int sCount, Datatype sType, Object r, int rCount, Datatype rType, int root)
            throws MPIException {
        return scatter(
                isRoot(root) ? Region.of(s, 0, sCount * getSize(), sType) : null, Region.of(r, 0, rCount, rType), root);
    }

    public final void scatter(Object buffer, int count, Datatype type, int root) throws MPIException {
        iScatter(buffer, count, type, root).waitFor();
    }

    public final Request iScatter(Object buffer, int count, Datatype type, int root) throws MPIException {
        return isRoot(root)
                ? scatter(Region.of(buffer, 0, count * getSize(), type), Region.own(type, count), root)
                : scatter(null, Region.of(buffer, 0, count, type), root);
    }

    private Request scatter(@Nullable Region sent, Region received, int root) throws MPIException {
        Communicator c = comm();
        return start(received::received, () -> c.scatter(sent == null ? null : sent.data(), received.data(), root));
    }

    public final void scatterv(
            Object s, int[] counts, int[] places, Datatype sType, Object r, int rCount, Datatype rType, int root)
            throws MPIException {
        iScatterv(s, counts, places, sType, r, rCount, rType, root).waitFor();
    }

    public final Request iScatterv(
            Object s, int[] counts, int[] places, Datatype sType, Object r, int rCount, Datatype rType, int root)
            throws MPIException {
        return scatterv(s, counts, places, sType, Region.of(r, 0, rCount, rType), root);
    }

    /** The root's part of a scatter in place. */
    public final void scatterv(Object s, int[] counts, int[] places, Datatype type, int root) throws MPIException {
        iScatterv(s, counts, places, type, root).waitFor();
    }

    public final Request iScatterv(Object s, int[] counts, int[] places, Datatype type, int root) throws MPIException {
        return scatterv(s, counts, places, type, Region.own(type, counts[getRank()]), root);
    }

    /** The part of the other processes in a scatter in place. */
    public final void scatterv(Object r, int count, Datatype type, int root) throws MPIException {
        iScatterv(r, count, type, root).waitFor();
    }

    public final Request iScatterv(Object r, int count, Datatype type, int root) throws MPIException {
        return scatterv(r, new int[0], new int[0], type, Region.of(r, 0, count, type), root);
    }

    private Request scatterv(Object s, int[] counts, int[] places, Datatype type, Region received, int root)
            throws MPIException {
        Communicator c = comm();
        if (!isRoot(root)) {
            return start(received::received, () -> c.scatterV(null, null, null, received.data(), root));
        }
        Region sent = whole(s, counts, places, type);
        return start(
                received::received, () -> c.scatterV(sent.data(), longs(counts), longs(places), received.data(), root));
    }

    public final void allGather(Object s, int sCount, Datatype sType, Object r, int rCount, Datatype rType)
            throws MPIException {
        iAllGather(s, sCount, sType, r, rCount, rType).waitFor();
    }

    public final Request iAllGather(Object s, int sCount, Datatype sType, Object r, int rCount, Datatype rType)
            throws MPIException {
        return allGather(Region.of(s, 0, sCount, sType), Region.of(r, 0, rCount * getSize(), rType));
    }

    public final void allGather(Object buffer, int count, Datatype type) throws MPIException {
        iAllGather(buffer, count, type).waitFor();
    }

    public final Request iAllGather(Object buffer, int count, Datatype type) throws MPIException {
        return allGather(
                Region.copyOf(buffer, count * getRank(), count, type), Region.of(buffer, 0, count * getSize(), type));
    }

    private Request allGather(Region sent, Region received) throws MPIException {
        Communicator c = comm();
        return start(received::received, () -> c.allGather(sent.data(), received.data()));
    }

    public final void allGatherv(
            Object s, int sCount, Datatype sType, Object r, int[] counts, int[] places, Datatype rType)
            throws MPIException {
        iAllGatherv(s, sCount, sType, r, counts, places, rType).waitFor();
    }

    public final Request iAllGatherv(
            Object s, int sCount, Datatype sType, Object r, int[] counts, int[] places, Datatype rType)
            throws MPIException {
        Communicator c = comm();
        Region sent = Region.of(s, 0, sCount, sType);
        Region received = whole(r, counts, places, rType);
        long[] sentCounts = new long[c.size()];
        Arrays.fill(sentCounts, sCount);
        return start(
                received::received,
                () -> c.allToAllV(
                        sent.data(), sentCounts, new long[c.size()], received.data(), longs(counts), longs(places)));
    }

    public final void allGatherv(Object r, int[] counts, int[] places, Datatype type) throws MPIException {
        iAllGatherv(r, counts, places, type).waitFor();
    }

    public final Request iAllGatherv(Object r, int[] counts, int[] places, Datatype type) throws MPIException {
        int rank = getRank();
        Object own = type.array(counts[rank]);
        Region.copy(
                Region.of(r, places[rank], counts[rank], type).data(),
                Region.of(own, 0, counts[rank], type).data());
        return iAllGatherv(own, counts[rank], type, r, counts, places, type);
    }

    public final void allToAll(Object s, int sCount, Datatype sType, Object r, int rCount, Datatype rType)
            throws MPIException {
        iAllToAll(s, sCount, sType, r, rCount, rType).waitFor();
    }

    public final Request iAllToAll(Object s, int sCount, Datatype sType, Object r, int rCount, Datatype rType)
            throws MPIException {
        Communicator c = comm();
        Region sent = Region.of(s, 0, sCount * c.size(), sType);
        Region received = Region.of(r, 0, rCount * c.size(), rType);
        return start(received::received, () -> c.allToAll(sent.data(), received.data()));
    }

    public final void allToAllv(
            Object s,
            int[] sCounts,
            int[] sPlaces,
            Datatype sType,
            Object r,
            int[] rCounts,
            int[] rPlaces,
            Datatype rType)
            throws MPIException {
        iAllToAllv(s, sCounts, sPlaces, sType, r, rCounts, rPlaces, rType).waitFor();
    }

    public final Request iAllToAllv(
            Object s,
            int[] sCounts,
            int[] sPlaces,
            Datatype sType,
            Object r,
            int[] rCounts,
            int[] rPlaces,
            Datatype rType)
            throws MPIException {
        Communicator c = comm();
        Region sent = whole(s, sCounts, sPlaces, sType);
        Region received = whole(r, rCounts, rPlaces, rType);
        return start(
                received::received,
                () -> c.allToAllV(
                        sent.data(), longs(sCounts), longs(sPlaces), received.data(), longs(rCounts), longs(rPlaces)));
    }

    public final void reduce(Object s, Object r, int count, Datatype type, Op op, int root) throws MPIException {
        iReduce(s, r, count, type, op, root).waitFor();
    }

    public final Request iReduce(Object s, Object r, int count, Datatype type, Op op, int root) throws MPIException {
        return reduce(
                Region.of(s, 0, count, type),
                isRoot(root) ? Region.of(r, 0, count, type) : Region.own(type, 0),
                op,
                type,
                root);
    }

    public final void reduce(Object buffer, int count, Datatype type, Op op, int root) throws MPIException {
        iReduce(buffer, count, type, op, root).waitFor();
    }

    public final Request iReduce(Object buffer, int count, Datatype type, Op op, int root) throws MPIException {
        Region region = Region.of(buffer, 0, count, type);
        return reduce(region, isRoot(root) ? region : Region.own(type, 0), op, type, root);
    }

    private Request reduce(Region s, Region r, Op op, Datatype type, int root) throws MPIException {
        Communicator c = comm();
        Object with = op.resolve(type);
        DataBuffer result = c.rank() == root ? r.data() : null;
        return start(
                r::received,
                () -> with instanceof ReduceOp one
                        ? c.reduce(s.data(), result, one, root)
                        : c.reduce(s.data(), result, (Reduction) with, root));
    }

    public final void allReduce(Object s, Object r, int count, Datatype type, Op op) throws MPIException {
        iAllReduce(s, r, count, type, op).waitFor();
    }

    public final Request iAllReduce(Object s, Object r, int count, Datatype type, Op op) throws MPIException {
        return allReduce(Region.of(s, 0, count, type), Region.of(r, 0, count, type), op, type);
    }

    public final void allReduce(Object buffer, int count, Datatype type, Op op) throws MPIException {
        iAllReduce(buffer, count, type, op).waitFor();
    }

    public final Request iAllReduce(Object buffer, int count, Datatype type, Op op) throws MPIException {
        Region region = Region.of(buffer, 0, count, type);
        return allReduce(region, region, op, type);
    }

    private Request allReduce(Region s, Region r, Op op, Datatype type) throws MPIException {
        Communicator c = comm();
        Object with = op.resolve(type);
        return start(
                r::received,
                () -> with instanceof ReduceOp one
                        ? c.allReduce(s.data(), r.data(), one)
                        : c.allReduce(s.data(), r.data(), (Reduction) with));
    }

    public final void reduceScatter(Object s, Object r, int[] counts, Datatype type, Op op) throws MPIException {
        iReduceScatter(s, r, counts, type, op).waitFor();
    }

    public final Request iReduceScatter(Object s, Object r, int[] counts, Datatype type, Op op) throws MPIException {
        Region received = Region.of(r, 0, counts[getRank()], type);
        return reduceScatter(Region.of(s, 0, sum(counts), type), received, counts, op, type);
    }

    public final void reduceScatter(Object buffer, int[] counts, Datatype type, Op op) throws MPIException {
        iReduceScatter(buffer, counts, type, op).waitFor();
    }

    public final Request iReduceScatter(Object buffer, int[] counts, Datatype type, Op op) throws MPIException {
        Region received = Region.of(buffer, 0, counts[getRank()], type);
        return reduceScatter(Region.copyOf(buffer, 0, sum(counts), type), received, counts, op, type);
    }

    public final void reduceScatterBlock(Object s, Object r, int count, Datatype type, Op op) throws MPIException {
        reduceScatter(s, r, each(count), type, op);
    }

    public final Request iReduceScatterBlock(Object s, Object r, int count, Datatype type, Op op) throws MPIException {
        return iReduceScatter(s, r, each(count), type, op);
    }

    public final void reduceScatterBlock(Object buffer, int count, Datatype type, Op op) throws MPIException {
        reduceScatter(buffer, each(count), type, op);
    }

    public final Request iReduceScatterBlock(Object buffer, int count, Datatype type, Op op) throws MPIException {
        return iReduceScatter(buffer, each(count), type, op);
    }

    private Request reduceScatter(Region s, Region r, int[] counts, Op op, Datatype type) throws MPIException {
        Communicator c = comm();
        Object with = op.resolve(type);
        return start(
                r::received,
                () -> with instanceof ReduceOp one
                        ? c.reduceScatterV(s.data(), r.data(), longs(counts), one)
                        : c.reduceScatterV(s.data(), r.data(), longs(counts), (Reduction) with));
    }

    /** Sets each element {@code b} of {@code inOut} to {@code a ∘ b}, without communication. */
    public static void reduceLocal(Object in, Object inOut, int count, Datatype type, Op op) throws MPIException {
        Region result = Region.copyOf(in, 0, count, type);
        Region region = Region.of(inOut, 0, count, type);
        try {
            op.fold(result.data(), region.data(), type);
        } catch (RuntimeException e) {
            throw MPIException.of(e);
        }
        Region.copy(result.data(), region.data());
        region.received();
    }

    final boolean isRoot(int root) throws MPIException {
        return getRank() == root;
    }

    private int[] each(int count) throws MPIException {
        int[] counts = new int[getSize()];
        Arrays.fill(counts, count);
        return counts;
    }

    private int sum(int[] counts) throws MPIException {
        return Arrays.stream(counts).limit(getSize()).sum();
    }

    /** Returns the first elements of a buffer, up to the end of the last block. */
    private Region whole(Object buffer, int[] counts, int[] places, Datatype type) throws MPIException {
        int end = 0;
        for (int i = 0; i < getSize(); i++) {
            end = Math.max(end, places[i] + counts[i]);
        }
        return Region.of(buffer, 0, end, type);
    }

    private long[] longs(int[] values) {
        return Arrays.stream(values).limit(comm.size()).asLongStream().toArray();
    }
}
