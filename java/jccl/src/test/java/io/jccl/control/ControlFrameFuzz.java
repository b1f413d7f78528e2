package io.jccl.control;

import io.jccl.UniqueId;
import io.jccl.membership.JobMembers;
import io.jccl.membership.ReservedPort;
import io.jccl.rendezvous.CoordinatorAddress;
import io.jccl.rendezvous.RankRegistration;
import io.jccl.wire.Addresses;
import io.jccl.wire.Handshake;
import io.jccl.wire.LastEntered;
import io.jccl.wire.Limits;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Fuzz target: messages that ranks and unauthenticated peers send to the servers of the bootstrap. The first byte
 * selects the reader. A message that is read is written and read again, and must stay the same.
 */
public final class ControlFrameFuzz {

    private static final int SIZE = 5;
    private static final UniqueId ID = UniqueId.of(
            List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 1)), new byte[UniqueId.SECRET_BYTES]);
    private static final long SECOND = 1_000_000_000L;

    private enum Reader {
        GREETING,
        HELLO,
        FAILURE,
        STATUS,
        POSITION,
        TABLE,
        COORDINATOR_ADDRESS,
        ADDRESSES,
        RESERVED_PORT,
        OUT_OF_BAND,
        COORDINATOR,
        MEMBERS
    }

    private ControlFrameFuzz() {}

    /** Reads the bytes; throws unless they are read or are refused with a reason. */
    public static void fuzzerTestOneInput(byte[] data) {
        if (data.length == 0) {
            return;
        }
        byte[] body = Arrays.copyOfRange(data, 1, data.length);
        Reader[] readers = Reader.values();
        try {
            read(readers[(data[0] & 0xff) % readers.length], body);
        } catch (WireException e) {
            if (e.getMessage().isEmpty()) {
                throw new IllegalStateException("refused without a reason", e);
            }
        }
    }

    private static void read(Reader reader, byte[] body) {
        switch (reader) {
            case GREETING -> {
                if (body.length == Handshake.GREETING_BYTES) {
                    byte[] nonce = Handshake.nonceOf(body);
                    requireSame(nonce, Handshake.nonceOf(Handshake.greeting(nonce))); // a greeting of any generation
                }
            }
            case HELLO -> {
                RankRegistration.Hello hello = RankRegistration.Hello.read(new WireReader(body));
                new RankRegistration("test", 0).giveUp(null, hello.version());
                byte[] again = hello.write().toBytes();
                requireSame(
                        again,
                        RankRegistration.Hello.read(new WireReader(again))
                                .write()
                                .toBytes());
            }
            case FAILURE -> {
                FailureReport report = Codecs.decodeFailure(new WireReader(body), SIZE);
                report.toException();
                report.describe();
                byte[] again = Codecs.encode(report);
                requireSame(again, Codecs.encode(Codecs.decodeFailure(new WireReader(again), SIZE)));
            }
            case STATUS -> {
                WireWriter again = new WireWriter();
                Codecs.write(again, Codecs.readStatus(new WireReader(body), SIZE));
                requireSame(again.toBytes(), written(Codecs.readStatus(new WireReader(again.toBytes()), SIZE)));
            }
            case POSITION -> requireSame(
                    body,
                    Position.read(new WireReader(body)).write(new WireWriter()).toBytes());
            case TABLE -> {
                List<byte[]> parts = GatherTable.read(new WireReader(body), SIZE);
                WireWriter again = new WireWriter();
                GatherTable.write(again, parts.toArray(new byte[0][]));
                List<byte[]> read = GatherTable.read(new WireReader(again.toBytes()), SIZE);
                for (int rank = 0; rank < SIZE; rank++) {
                    requireSame(parts.get(rank), read.get(rank));
                }
            }
            case COORDINATOR_ADDRESS -> CoordinatorAddress.decode(body).encode();
            case ADDRESSES -> requireSame(body, Addresses.encode(Addresses.decode(body)));
            case RESERVED_PORT -> ReservedPort.decode(new String(body, StandardCharsets.ISO_8859_1));
            case OUT_OF_BAND -> outOfBand(body);
            case COORDINATOR -> coordinator(new WireReader(body));
            case MEMBERS -> members(new String(body, StandardCharsets.UTF_8));
        }
    }

    private static byte[] written(RankStatus status) {
        WireWriter out = new WireWriter();
        Codecs.write(out, status);
        return out.toBytes();
    }

    private static void members(String text) {
        try {
            JobMembers.of(ID, List.of(text));
        } catch (IllegalArgumentException e) {
            if (!e.getMessage().startsWith("members=")) {
                throw new IllegalStateException("refused without a reason", e);
            }
        }
    }

    private static void outOfBand(byte[] body) {
        OutOfBandChannel channel = new OutOfBandChannel(0, SIZE, SECOND, (type, content) -> {});
        WireReader in = new WireReader(body);
        if (in.flag()) {
            channel.onMessage(in.copy());
        } else {
            channel.onGatherMissing(in.copy());
        }
    }

    /**
     * Passes frames of ranks to the coordinator, as {@link CompleteGroup} reads them, and lets time pass in
     * between.
     */
    private static void coordinator(WireReader in) {
        Recorder recorder = new Recorder();
        Coordinator coordinator = new Coordinator(SIZE, SECOND, 2 * SECOND, 0, recorder);
        long now = 0;
        try {
            while (in.remaining() > 0) {
                int what = in.u8();
                int rank = in.u8() % SIZE;
                now += in.u8() * (SECOND / 100);
                switch (what % 7) {
                    case 0 -> coordinator.heartbeat(rank, position(in), now);
                    case 1 -> coordinator.fin(rank, position(in), now);
                    case 2 -> coordinator.report(
                            rank, in.constant(ReportKind.class), in.i64(), in.i64(), in.text(Limits.MAX_TEXT), now);
                    case 3 -> {
                        // The server refuses an answer that does not name its sender and the current inquiry.
                        RankStatus status = Codecs.readStatus(in, SIZE);
                        if (status.rank() != rank) {
                            throw new WireException("status of rank=" + status.rank() + ": sent by " + rank);
                        }
                        coordinator.status(rank, recorder.lastInquiry, status, now);
                    }
                    case 4 -> coordinator.lost(rank, "lost", now);
                    case 5 -> coordinator.heard(rank, now);
                    default -> coordinator.tick(now);
                }
            }
        } finally {
            for (int i = 0; i < 8; i++) {
                now += SECOND;
                coordinator.tick(now);
            }
        }
        if (recorder.failures > 1) {
            throw new IllegalStateException("failures=" + recorder.failures + ": expected one that is agreed");
        }
    }

    private static Position position(WireReader in) {
        return new Position(LastEntered.read(in), in.i64(), in.i64());
    }

    private static final class Recorder implements Coordinator.Output {

        private long lastInquiry;
        private int failures;

        @Override
        public void query(int rank, long inquiry, long sequence, boolean withNetwork) {
            lastInquiry = inquiry;
        }

        @Override
        public void ask(int rank) {}

        @Override
        public void finAck(int rank) {}

        @Override
        public void failure(FailureReport agreed) {
            failures++;
            byte[] bytes = Codecs.encode(agreed);
            Codecs.decodeFailure(new WireReader(bytes), SIZE).toException();
        }
    }

    private static void requireSame(byte[] one, byte[] other) {
        if (!Arrays.equals(one, other)) {
            HexFormat hex = HexFormat.of();
            throw new IllegalStateException(
                    "changed by writing and reading: " + hex.formatHex(one) + " and " + hex.formatHex(other));
        }
    }

    /** Returns a valid input for each reader, with which a fuzzer starts. */
    public static SortedMap<String, byte[]> seeds() {
        SortedMap<String, byte[]> seeds = new TreeMap<>();
        RankStatus status = new RankStatus(
                1,
                RankStatus.State.ANSWERED,
                new LastEntered(12, 3),
                CoordinatorTest.entered(1, 12, -5, 1L << 40).operation(),
                List.of());
        FailureReport report = new FailureReport(
                FailureReport.Kind.TIMEOUT,
                12,
                1,
                new TreeSet<>(Set.of(0)),
                new TreeSet<>(Set.of(2)),
                List.of(RankStatus.silent(0), status.with(new Trail(12, List.of(7L, -8L)))),
                "it took long");
        byte[] position = new Position(new LastEntered(3, 4), 5, 6)
                .write(new WireWriter())
                .toBytes();
        byte[] addresses = HexFormat.of().parseHex("00000001000000047f00000100001f90");
        WireWriter table = new WireWriter();
        GatherTable.write(table, new byte[][] {{1, 2, 3}, {1, 2, 3}, {1, 9, 3}, {}, {7}});
        put(seeds, Reader.GREETING, Handshake.greeting(new byte[Handshake.NONCE_BYTES], 5));
        put(
                seeds,
                Reader.HELLO,
                new RankRegistration.Hello("1.0", 1, SIZE, -1, "key", new byte[] {1, 2})
                        .write()
                        .toBytes());
        put(seeds, Reader.FAILURE, Codecs.encode(report));
        put(seeds, Reader.STATUS, written(status));
        put(seeds, Reader.POSITION, position);
        put(seeds, Reader.TABLE, table.toBytes());
        put(
                seeds,
                Reader.COORDINATOR_ADDRESS,
                new WireWriter()
                        .blob(new byte[Handshake.NONCE_BYTES])
                        .blob(addresses)
                        .toBytes());
        put(seeds, Reader.ADDRESSES, addresses);
        put(seeds, Reader.RESERVED_PORT, HexFormat.of().formatHex(addresses).getBytes(StandardCharsets.US_ASCII));
        put(
                seeds,
                Reader.OUT_OF_BAND,
                new WireWriter().u8(1).i32(2).i32(7).blob(new byte[] {4}).toBytes());
        put(seeds, Reader.MEMBERS, "10.0.0.1:1,[fd00::1]:65535, host:2".getBytes(StandardCharsets.UTF_8));
        put(seeds, Reader.COORDINATOR, coordinatorSeed(position, written(status)));
        return seeds;
    }

    /** Encodes positions, a report, an answer to the inquiry, a rank that leaves and a rank that is lost. */
    private static byte[] coordinatorSeed(byte[] position, byte[] status) {
        WireWriter out = new WireWriter();
        for (int rank = 0; rank < SIZE; rank++) {
            out.u8(0).u8(rank).u8(1).raw(position);
        }
        out.u8(2).u8(2).u8(1).u8(0).i64(12).i64(100).text("late", Limits.MAX_TEXT);
        out.u8(3).u8(1).u8(1).raw(status);
        out.u8(1).u8(3).u8(1).raw(position);
        out.u8(4).u8(4).u8(1);
        out.u8(6).u8(0).u8(200);
        return out.toBytes();
    }

    private static void put(SortedMap<String, byte[]> seeds, Reader reader, byte[] body) {
        seeds.put(
                reader.name(),
                ByteBuffer.allocate(1 + body.length)
                        .put((byte) reader.ordinal())
                        .put(body)
                        .array());
    }
}
