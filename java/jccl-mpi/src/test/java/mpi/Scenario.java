package mpi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.CharBuffer;
import java.nio.IntBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongBinaryOperator;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** Calls of every kind on all ranks of a communicator, with results from a model. */
final class Scenario {

    private static final int COUNT = 300;
    private static final List<Datatype> TYPES =
            List.of(MPI.BYTE, MPI.BOOLEAN, MPI.CHAR, MPI.SHORT, MPI.INT, MPI.LONG, MPI.FLOAT, MPI.DOUBLE);

    /** An operation that is associative and does not commute: it keeps the digits of its first argument. */
    private static final Op FIRST_DIGITS = new Op(
            new UserFunction() {
                @Override
                public void call(Object in, Object inOut, int count, Datatype type) {
                    int[] a = (int[]) in;
                    int[] b = (int[]) inOut;
                    for (int i = 0; i < count; i++) {
                        b[i] = (a[i] / 1000 * 1000) + b[i] % 1000;
                    }
                }
            },
            false);

    private final Intracomm world;
    private final int rank;
    private final int size;

    Scenario(Intracomm world) throws MPIException {
        this.world = world;
        this.rank = world.getRank();
        this.size = world.getSize();
    }

    static void runAll(Intracomm world) throws MPIException {
        Scenario scenario = new Scenario(world);
        for (Datatype type : TYPES) {
            scenario.moves(type);
        }
        scenario.blocksOfDifferentSizes();
        scenario.reductions();
        scenario.prefixes();
        scenario.messages();
        scenario.requests();
        scenario.groups();
        scenario.mistakes();
        world.barrier();
    }

    /** Returns elements that differ from rank to rank. */
    private static Object values(Datatype type, int rank, int count) {
        Object array = type.array(count);
        for (int i = 0; i < count; i++) {
            set(array, i, rank * 7 + i);
        }
        return array;
    }

    private static void set(Object array, int i, int value) {
        if (array instanceof boolean[] booleans) {
            booleans[i] = value % 3 == 0;
        } else if (array instanceof char[] chars) {
            chars[i] = (char) value;
        } else if (array instanceof byte[] bytes) {
            bytes[i] = (byte) value;
        } else if (array instanceof short[] shorts) {
            shorts[i] = (short) value;
        } else if (array instanceof int[] ints) {
            ints[i] = value;
        } else if (array instanceof long[] longs) {
            longs[i] = value;
        } else if (array instanceof float[] floats) {
            floats[i] = value;
        } else {
            ((double[]) array)[i] = value;
        }
    }

    /** Returns the elements of all ranks in order. */
    private Object all(Datatype type, int count) {
        Object array = type.array(count * size);
        for (int from = 0; from < size; from++) {
            System.arraycopy(values(type, from, count), 0, array, from * count, count);
        }
        return array;
    }

    private void moves(Datatype type) throws MPIException {
        for (int root = type == MPI.INT ? 0 : size - 1; root < size; root++) {
            Object buffer = values(type, rank, COUNT);
            world.bcast(buffer, COUNT, type, root);
            assertThat(buffer).isEqualTo(values(type, root, COUNT));

            Object gathered = type.array(COUNT * size);
            world.gather(values(type, rank, COUNT), COUNT, type, gathered, COUNT, type, root);
            assertThat(gathered).isEqualTo(rank == root ? all(type, COUNT) : type.array(COUNT * size));

            Object inPlace = rank == root ? type.array(COUNT * size) : values(type, rank, COUNT);
            if (rank == root) {
                System.arraycopy(values(type, rank, COUNT), 0, inPlace, rank * COUNT, COUNT);
            }
            world.gather(inPlace, COUNT, type, root);
            assertThat(inPlace).isEqualTo(rank == root ? all(type, COUNT) : values(type, rank, COUNT));

            Object scattered = type.array(COUNT);
            world.scatter(all(type, COUNT), COUNT, type, scattered, COUNT, type, root);
            assertThat(scattered).isEqualTo(values(type, rank, COUNT));
            Object part = rank == root ? all(type, COUNT) : type.array(COUNT);
            world.scatter(part, COUNT, type, root);
            assertThat(part).isEqualTo(rank == root ? all(type, COUNT) : values(type, rank, COUNT));
        }
        Object all = type.array(COUNT * size);
        world.allGather(values(type, rank, COUNT), COUNT, type, all, COUNT, type);
        assertThat(all).isEqualTo(all(type, COUNT));
        Object inPlace = type.array(COUNT * size);
        System.arraycopy(values(type, rank, COUNT), 0, inPlace, rank * COUNT, COUNT);
        world.allGather(inPlace, COUNT, type);
        assertThat(inPlace).isEqualTo(all(type, COUNT));
        Object exchanged = type.array(COUNT * size);
        world.allToAll(repeated(type), COUNT, type, exchanged, COUNT, type);
        assertThat(exchanged).isEqualTo(all(type, COUNT));
    }

    private Object repeated(Datatype type) {
        Object array = type.array(COUNT * size);
        for (int to = 0; to < size; to++) {
            System.arraycopy(values(type, rank, COUNT), 0, array, to * COUNT, COUNT);
        }
        return array;
    }

    /** Blocks in reverse order, with gaps, whose sizes only the root knows. */
    private void blocksOfDifferentSizes() throws MPIException {
        int[] counts = new int[size + 3]; // longer than necessary, as programs have them
        int[] places = new int[size + 3];
        int end = 0;
        for (int peer = size - 1; peer >= 0; peer--) {
            counts[peer] = peer * 5;
            places[peer] = end;
            end += counts[peer] + 2;
        }
        int mine = counts[rank];
        int[] expected = new int[end];
        for (int peer = 0; peer < size; peer++) {
            System.arraycopy(values(MPI.INT, peer, counts[peer]), 0, expected, places[peer], counts[peer]);
        }
        int[] own = (int[]) values(MPI.INT, rank, mine);
        int[] received = new int[end];
        world.allGatherv(own, mine, MPI.INT, received, counts, places, MPI.INT);
        assertThat(received).isEqualTo(expected);
        int[] inPlace = new int[end];
        System.arraycopy(own, 0, inPlace, places[rank], mine);
        world.allGatherv(inPlace, counts, places, MPI.INT);
        assertThat(inPlace).isEqualTo(expected);

        int root = size - 1;
        IntBuffer gathered = MPI.newIntBuffer(end);
        if (rank == root) {
            world.gatherv(own, mine, MPI.INT, gathered, counts, places, MPI.INT, root);
        } else {
            world.gatherv(own, mine, MPI.INT, null, null, null, MPI.INT, root);
        }
        assertThat(array(gathered)).isEqualTo(rank == root ? expected : new int[end]);
        int[] rootsPart = new int[end];
        System.arraycopy(own, 0, rootsPart, places[rank], mine);
        if (rank == root) {
            world.gatherv(rootsPart, counts, places, MPI.INT, root);
            assertThat(rootsPart).isEqualTo(expected);
        } else {
            world.gatherv(own, mine, MPI.INT, root);
        }
        int[] scattered = new int[mine];
        world.scatterv(expected, counts, places, MPI.INT, scattered, mine, MPI.INT, root);
        assertThat(scattered).isEqualTo(own);
        if (rank == root) {
            world.scatterv(expected, counts, places, MPI.INT, root);
        } else {
            int[] part = new int[mine];
            world.scatterv(part, mine, MPI.INT, root);
            assertThat(part).isEqualTo(own);
        }

        int[] to = new int[size]; // to[p] elements for p, from each rank as many as this rank gets
        int[] from = new int[size];
        int[] toPlaces = new int[size];
        int[] fromPlaces = new int[size];
        for (int peer = 0; peer < size; peer++) {
            to[peer] = 1 + peer;
            from[peer] = 1 + rank;
            toPlaces[peer] = peer * (size + 1);
            fromPlaces[peer] = (size - 1 - peer) * (size + 1);
        }
        int[] sent = (int[]) values(MPI.INT, rank, size * (size + 1));
        int[] got = new int[size * (size + 1)];
        world.allToAllv(sent, to, toPlaces, MPI.INT, got, from, fromPlaces, MPI.INT);
        for (int peer = 0; peer < size; peer++) {
            assertThat(got[fromPlaces[peer] + rank]).isEqualTo(peer * 7 + rank * (size + 1) + rank);
        }
    }

    private static int[] array(IntBuffer buffer) {
        int[] array = new int[buffer.capacity()];
        buffer.get(0, array);
        return array;
    }

    private void reductions() throws MPIException {
        check(MPI.SUM, Long::sum);
        check(MPI.MAX, Math::max);
        check(MPI.BXOR, (a, b) -> a ^ b);
        check(MPI.LAND, (a, b) -> a != 0 && b != 0 ? 1 : 0);
        check(MPI.LXOR, (a, b) -> a != 0 ^ b != 0 ? 1 : 0);
        check(FIRST_DIGITS, (a, b) -> a / 1000 * 1000 + b % 1000);
        boolean[] flags = {rank == 0, true, false};
        world.allReduce(flags, 3, MPI.BOOLEAN, MPI.LOR);
        assertThat(flags).containsExactly(true, true, false);
        short[] shorts = {(short) rank, 300};
        world.allReduce(shorts, 2, MPI.SHORT, MPI.SUM);
        assertThat(shorts).containsExactly((short) (size * (size - 1) / 2), (short) (300 * size));
        int[] inOut = {7007};
        Comm.reduceLocal(new int[] {3003}, inOut, 1, MPI.INT, FIRST_DIGITS);
        assertThat(inOut).containsExactly(3007);
    }

    private int[] operand(int of) {
        int[] operand = new int[COUNT];
        Arrays.setAll(operand, i -> (of + 1) * 1000 + (i % (of + 2) == 0 ? 0 : i));
        return operand;
    }

    private int[] folded(int ranks, LongBinaryOperator op) {
        int[] folded = operand(0);
        for (int next = 1; next < ranks; next++) {
            int[] more = operand(next);
            for (int i = 0; i < COUNT; i++) {
                folded[i] = (int) op.applyAsLong(folded[i], more[i]);
            }
        }
        return folded;
    }

    private void check(Op op, LongBinaryOperator model) throws MPIException {
        int[] expected = folded(size, model);
        int[] result = new int[COUNT];
        world.allReduce(operand(rank), result, COUNT, MPI.INT, op);
        assertThat(result).isEqualTo(expected);
        int root = size / 2;
        int[] inPlace = operand(rank);
        world.reduce(inPlace, COUNT, MPI.INT, op, root);
        assertThat(inPlace).isEqualTo(rank == root ? expected : operand(rank));
        int[] counts = new int[size];
        Arrays.fill(counts, COUNT / size);
        counts[0] += COUNT % size;
        int first = Arrays.stream(counts).limit(rank).sum();
        int[] block = new int[counts[rank]];
        world.reduceScatter(operand(rank), block, counts, MPI.INT, op);
        assertThat(block).isEqualTo(Arrays.copyOfRange(expected, first, first + counts[rank]));
        int[] front = operand(rank);
        world.reduceScatter(front, counts, MPI.INT, op);
        assertThat(Arrays.copyOf(front, counts[rank])).isEqualTo(block);
    }

    private void prefixes() throws MPIException {
        for (Op op : List.of(MPI.SUM, FIRST_DIGITS)) {
            LongBinaryOperator model = op == MPI.SUM ? Long::sum : (a, b) -> a / 1000 * 1000 + b % 1000;
            int[] result = new int[COUNT];
            world.scan(operand(rank), result, COUNT, MPI.INT, op);
            assertThat(result).isEqualTo(folded(rank + 1, model));
            int[] inPlace = operand(rank);
            world.scan(inPlace, COUNT, MPI.INT, op);
            assertThat(inPlace).isEqualTo(result);
            int[] exclusive = operand(rank);
            world.exScan(exclusive, COUNT, MPI.INT, op);
            assertThat(exclusive).isEqualTo(rank == 0 ? operand(0) : folded(rank, model));
        }
    }

    private void messages() throws MPIException {
        int next = (rank + 1) % size;
        int previous = (rank + size - 1) % size;
        for (Datatype type : TYPES) {
            Object received = type.array(COUNT + 1);
            Request sent = world.iSend(values(type, rank, COUNT), COUNT, type, next, 3);
            Status status = world.recv(received, COUNT + 1, type, MPI.ANY_SOURCE, MPI.ANY_TAG);
            assertThat(status.getSource()).isEqualTo(previous);
            assertThat(status.getTag()).isEqualTo(3);
            assertThat(status.getCount(type)).isEqualTo(COUNT);
            Object expected = type.array(COUNT + 1);
            System.arraycopy(values(type, previous, COUNT), 0, expected, 0, COUNT);
            assertThat(received).isEqualTo(expected);
            sent.waitFor();
        }
        assertThat(world.iProbe(previous, 8)).isNull();
        world.bSend(new int[] {rank, 1}, 2, MPI.INT, next, 9);
        Status found = world.probe(MPI.ANY_SOURCE, 9);
        assertThat(found.getCount(MPI.INT)).isEqualTo(2);
        assertThat(found.getCount(MPI.LONG)).isEqualTo(1);
        int[] pair = new int[2];
        world.recv(pair, 2, MPI.INT, found.getSource(), found.getTag());
        assertThat(pair).containsExactly(previous, 1);

        int[] replaced = {rank};
        world.sendRecvReplace(replaced, 1, MPI.INT, next, 4, previous, 4);
        assertThat(replaced).containsExactly(previous);
        CharBuffer chars = MPI.newCharBuffer(4);
        chars.put(0, (char) (65 + rank));
        CharBuffer got = MPI.newCharBuffer(4);
        world.sendRecv(chars, 1, MPI.CHAR, next, 5, got, 4, MPI.CHAR, previous, 5);
        assertThat(got.get(0)).isEqualTo((char) (65 + previous));

        Request matched = world.isSend(new int[] {rank}, 1, MPI.INT, next, 7);
        world.probe(previous, 7);
        assertThat(matched.test()).isFalse();
        world.barrier();
        world.recv(replaced, 1, MPI.INT, previous, 7);
        assertThat(replaced).containsExactly(previous);
        matched.waitFor();
        Prequest again = world.sSendInit(new int[] {rank}, 1, MPI.INT, next, 7);
        again.start();
        world.recv(replaced, 1, MPI.INT, MPI.ANY_SOURCE, 7);
        again.waitFor();

        world.sSend(null, 0, MPI.INT, MPI.PROC_NULL, 1);
        world.send(null, 0, MPI.INT, MPI.PROC_NULL, 1);
        assertThat(world.recv(null, 0, MPI.INT, MPI.PROC_NULL, 1).getSource()).isEqualTo(MPI.PROC_NULL);
        Request tooLong = world.iSend(new int[9], 9, MPI.INT, next, 6);
        assertThatThrownBy(() -> world.recv(new int[2], 2, MPI.INT, previous, 6))
                .isInstanceOf(MPIException.class)
                .matches(e -> ((MPIException) e).getErrorClass() == MPI.ERR_TRUNCATE)
                .hasMessageContaining("bytes=36");
        tooLong.waitFor();
    }

    private void requests() throws MPIException {
        int next = (rank + 1) % size;
        int previous = (rank + size - 1) % size;
        IntBuffer received = MPI.newIntBuffer(4);
        Request[] receives = new Request[5];
        for (int i = 0; i < 4; i++) {
            receives[i] = world.iRecv(MPI.slice(received, i), 1, MPI.INT, previous, 20 + i);
        }
        receives[4] = MPI.REQUEST_NULL;
        assertThat(Request.testAll(receives)).isFalse();
        world.barrier(); // before it, no rank sends
        for (int i = 3; i >= 0; i--) {
            world.send(new int[] {i + 100 * rank}, 1, MPI.INT, next, 20 + i);
        }
        int first = Request.waitAny(receives);
        assertThat(receives[first].isNull()).isTrue();
        int[] some = Request.waitSome(receives);
        assertThat(some).isNotEmpty().doesNotContain(first, 4);
        Request.waitAll(receives);
        assertThat(array(received))
                .containsExactly(100 * previous, 100 * previous + 1, 100 * previous + 2, 100 * previous + 3);
        assertThat(Request.waitAny(receives)).isEqualTo(MPI.UNDEFINED);
        assertThat(Request.testSome(receives)).isNull();

        IntBuffer round = MPI.newIntBuffer(1);
        IntBuffer answer = MPI.newIntBuffer(1);
        Prequest[] persistent = {
            world.sendInit(round, 1, MPI.INT, next, 30), world.recvInit(answer, 1, MPI.INT, previous, 30)
        };
        for (int i = 0; i < 3; i++) {
            round.put(0, i);
            Prequest.startAll(persistent);
            Request.waitAll(persistent);
            assertThat(answer.get(0)).isEqualTo(i);
        }
        assertThat(persistent[0].isNull()).isFalse();

        Request unmatched = world.iRecv(new int[1], 1, MPI.INT, previous, 31);
        unmatched.cancel();
        assertThat(unmatched.waitStatus().isCancelled()).isTrue();

        int[] sum = {rank};
        int[] all = new int[size];
        Request[] collectives = {
            world.iAllReduce(sum, 1, MPI.INT, MPI.SUM),
            world.iAllGather(new int[] {rank * 2}, 1, MPI.INT, all, 1, MPI.INT),
            world.iBarrier()
        };
        Status[] statuses = Request.waitAllStatus(collectives);
        assertThat(statuses).hasSize(3);
        assertThat(sum).containsExactly(size * (size - 1) / 2);
        assertThat(all[size - 1]).isEqualTo(2 * (size - 1));
    }

    private void groups() throws MPIException {
        Group all = world.getGroup();
        assertThat(all.getSize()).isEqualTo(size);
        assertThat(all.getRank()).isEqualTo(rank);
        Group backwards = all.rangeIncl(new int[][] {{size - 1, 0, -1}});
        assertThat(Group.compare(all, backwards)).isEqualTo(size == 1 ? MPI.IDENT : MPI.SIMILAR);
        assertThat(Group.translateRanks(backwards, new int[] {0}, all)).containsExactly(size - 1);
        Group odd = all.excl(Group.translateRanks(all, evens(), all));
        assertThat(Group.union(odd, all).getSize()).isEqualTo(size);
        assertThat(Group.intersection(odd, backwards).getSize()).isEqualTo(size / 2);

        Intracomm made = world.create(backwards);
        assertThat(made.getRank()).isEqualTo(size - 1 - rank);
        assertThat(Comm.compare(world, made)).isEqualTo(size == 1 ? MPI.CONGRUENT : MPI.SIMILAR);
        Intracomm half = made.split(rank % 2 == 0 ? 0 : MPI.UNDEFINED, rank);
        assertThat(half.isNull()).isEqualTo(rank % 2 == 1);
        if (!half.isNull()) {
            int[] sum = {rank};
            half.allReduce(sum, 1, MPI.INT, MPI.SUM);
            assertThat(sum[0]).isEqualTo(Arrays.stream(evens()).sum());
            assertThat(Group.compare(half.getGroup(), all.incl(evens()))).isEqualTo(MPI.IDENT);
            half.free();
            assertThat(half.isNull()).isTrue();
        }
        made.free();
        Intracomm copy = world.clone();
        assertThat(Comm.compare(world, copy)).isEqualTo(MPI.CONGRUENT);
        world.bSend(new int[] {1}, 1, MPI.INT, rank, 40);
        copy.bSend(new int[] {2}, 1, MPI.INT, rank, 40);
        int[] which = new int[1];
        copy.recv(which, 1, MPI.INT, rank, 40);
        assertThat(which).containsExactly(2);
        world.recv(which, 1, MPI.INT, rank, 40);
        assertThat(which).containsExactly(1);
        copy.free();
    }

    private int[] evens() {
        int[] evens = new int[(size + 1) / 2];
        Arrays.setAll(evens, i -> 2 * i);
        return evens;
    }

    /** Each mistake is refused before anything is sent, so the communicator stays usable. */
    private void mistakes() {
        refused(MPI.ERR_TYPE, "int[]", () -> world.bcast(new int[1], 1, MPI.LONG, 0));
        refused(MPI.ERR_TYPE, "char", () -> world.bcast(new char[1], 1, MPI.BOOLEAN, 0));
        refused(MPI.ERR_BUFFER, "count=2", () -> world.send(new int[1], 2, MPI.INT, 0, 0));
        refused(MPI.ERR_BUFFER, "count=2", () -> world.send(new boolean[1], 2, MPI.BOOLEAN, 0, 0));
        refused(MPI.ERR_BUFFER, "null", () -> world.send(null, 1, MPI.INT, 0, 0));
        refused(MPI.ERR_COUNT, "count=-1", () -> world.send(new int[1], -1, MPI.INT, 0, 0));
        refused(MPI.ERR_ARG, "peer=" + size, () -> world.send(new int[1], 1, MPI.INT, size, 0));
        refused(MPI.ERR_ARG, "tag=-5", () -> world.send(new int[1], 1, MPI.INT, 0, -5));
        refused(MPI.ERR_OP, "band", () -> world.allReduce(new float[1], 1, MPI.FLOAT, MPI.BAND));
        refused(MPI.ERR_OP, "sum", () -> world.allReduce(new boolean[1], 1, MPI.BOOLEAN, MPI.SUM));
        refused(MPI.ERR_UNSUPPORTED_OPERATION, "minloc", () -> world.allReduce(new int[2], 2, MPI.INT, MPI.MINLOC));
        refused(MPI.ERR_UNSUPPORTED_OPERATION, "createGroup", () -> world.createGroup(world.getGroup(), 0));
        refused(MPI.ERR_COMM, "null", () -> MPI.COMM_NULL.barrier());
        refused(MPI.ERR_ARG, "color=-1", () -> world.split(-1, 0));
    }

    private static void refused(int errorClass, String text, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOf(MPIException.class)
                .hasMessageContaining(text)
                .matches(e -> ((MPIException) e).getErrorClass() == errorClass, "class of the error");
    }
}
