package mpi;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import java.util.Optional;

/** A communicator. Only communicators of one group exist here, none between two groups. */
public final class Intracomm extends Comm {

    Intracomm() {}

    /** Returns a communicator over a communicator of the library, for programs that use both. */
    public static Intracomm over(Communicator communicator) {
        Intracomm made = new Intracomm();
        made.open(communicator, null);
        return made;
    }

    /**
     * Divides the processes into communicators, one for each color.
     *
     * @param color at least 0, or {@link MPI#UNDEFINED} for a process that gets {@link MPI#COMM_NULL}
     * @param key orders the processes of a color; equal keys keep the order
     */
    public Intracomm split(int color, int key) throws MPIException {
        if (color < 0 && color != MPI.UNDEFINED) {
            throw new MPIException(MPI.ERR_ARG, "color=" + color + ": expected 0 or more, or MPI.UNDEFINED");
        }
        Communicator c = comm();
        try {
            Optional<Communicator> part = c.split(color == MPI.UNDEFINED ? -1 : color, key);
            if (part.isEmpty()) {
                return MPI.COMM_NULL;
            }
            Intracomm made = new Intracomm();
            made.open(part.get(), this);
            return made;
        } catch (RuntimeException e) {
            throw MPIException.of(e);
        }
    }

    @Override
    public Intracomm dup() throws MPIException {
        return split(0, getRank());
    }

    /** Returns a communicator of a group; {@link MPI#COMM_NULL} in other processes. All processes call it. */
    public Intracomm create(Group group) throws MPIException {
        if (group.isNull()) {
            throw new MPIException(MPI.ERR_GROUP, "the group is null: free was called before");
        }
        int rank = group.getRank();
        return split(rank == MPI.UNDEFINED ? MPI.UNDEFINED : 0, rank);
    }

    /** Throws an exception: only all processes together can make a communicator. */
    public Intracomm createGroup(Group group, int tag) throws MPIException {
        throw MPIException.missing("createGroup", "call create in all processes");
    }

    public void scan(Object s, Object r, int count, Datatype type, Op op) throws MPIException {
        iScan(s, r, count, type, op).waitFor();
    }

    public Request iScan(Object s, Object r, int count, Datatype type, Op op) throws MPIException {
        return scan(Region.of(s, 0, count, type), Region.of(r, 0, count, type), count, type, op, true);
    }

    public void scan(Object buffer, int count, Datatype type, Op op) throws MPIException {
        iScan(buffer, count, type, op).waitFor();
    }

    public Request iScan(Object buffer, int count, Datatype type, Op op) throws MPIException {
        Region region = Region.of(buffer, 0, count, type);
        return scan(region, region, count, type, op, true);
    }

    public void exScan(Object s, Object r, int count, Datatype type, Op op) throws MPIException {
        iExScan(s, r, count, type, op).waitFor();
    }

    public Request iExScan(Object s, Object r, int count, Datatype type, Op op) throws MPIException {
        return scan(Region.of(s, 0, count, type), Region.of(r, 0, count, type), count, type, op, false);
    }

    public void exScan(Object buffer, int count, Datatype type, Op op) throws MPIException {
        iExScan(buffer, count, type, op).waitFor();
    }

    public Request iExScan(Object buffer, int count, Datatype type, Op op) throws MPIException {
        Region region = Region.of(buffer, 0, count, type);
        return scan(region, region, count, type, op, false);
    }

    private Request scan(Region s, Region r, int count, Datatype type, Op op, boolean isInclusive) throws MPIException {
        Communicator c = comm();
        if (op.resolve(type) instanceof ReduceOp one) {
            return start(
                    r::received,
                    () -> isInclusive ? c.scan(s.data(), r.data(), one) : c.exscan(s.data(), r.data(), one));
        }
        // The library scans with its own operations only.
        DataBuffer all = Region.own(type, count * c.size()).data();
        int ranks = c.rank() + (isInclusive ? 1 : 0);
        return start(
                () -> {
                    for (int rank = 0; rank < ranks; rank++) {
                        DataBuffer next = all.slice((long) rank * count, count);
                        if (rank == 0) {
                            Region.copy(next, r.data());
                        } else {
                            op.fold(r.data(), next, type);
                        }
                    }
                    r.received();
                },
                () -> c.allGather(s.data(), all));
    }
}
