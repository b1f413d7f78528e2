package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.DeviceException;
import io.jccl.JcclException;
import io.jccl.Registration;
import io.jccl.TransportException;
import io.jccl.device.HostIdentity;
import io.jccl.nativelib.Code;
import io.jccl.nativelib.DeviceConfig;
import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.OfferedDescriptor;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The registration of a device buffer. Every rank has opened the buffers of all other ranks. Also stands for a buffer
 * that needs no registration, and for one whose registration has no effect.
 */
public final class BufferRegistration implements Registration {

    private static final Logger LOG = LoggerFactory.getLogger(BufferRegistration.class);

    static final long QUIET_NANOS = 30_000_000_000L; // maximum wait for kernels of other communicators
    private static final long FAILED_QUIET_NANOS = 2_000_000_000L; // maximum wait for kernels after a failure
    private static final int MAX_INFO_BYTES = 1 << 16;

    private final CommunicatorImpl communicator;
    private final DataBuffer buffer;
    private final boolean inPlace;
    private final @Nullable KernelBackend backend; // null if nothing was opened
    private final Opened opened;
    private final AtomicBoolean closed = new AtomicBoolean();

    private BufferRegistration(
            CommunicatorImpl communicator,
            DataBuffer buffer,
            boolean inPlace,
            @Nullable KernelBackend backend,
            Opened opened) {
        this.communicator = communicator;
        this.buffer = buffer;
        this.inPlace = inPlace;
        this.backend = backend;
        this.opened = opened;
    }

    /**
     * The buffers that ranks have opened for a registration.
     *
     * @param number the native number of the registration; 0 if nothing was opened
     * @param here by rank, the address of its buffer in this process
     * @param there by rank, the address of this rank's buffer in its process
     */
    record Opened(long number, long[] here, long[] there) {

        static final Opened NOTHING = new Opened(0, new long[0], new long[0]);
    }

    /**
     * Registers a buffer; all ranks call this together.
     *
     * @param backend the backend that executes operations on the buffer
     */
    static BufferRegistration of(CommunicatorImpl communicator, Backend backend, DataBuffer buffer) {
        if (!(backend instanceof KernelBackend kernels)) {
            return without(communicator, buffer, false, "the host executes operations on memory of GPUs");
        }
        if (kernels.device().onRegistered().isEmpty()) {
            boolean inPlace = kernels.device().isInPlace();
            return without(communicator, buffer, inPlace, whyWithoutEffect(communicator.size(), inPlace));
        }
        communicator.whileNothingIsIssued(() -> {
            kernels.drain();
            return null;
        });
        Opened opened = new Exchange(communicator, kernels.device().engine()).register(buffer);
        communicator.whileNothingIsIssued(() -> {
            kernels.countRegistered(1);
            return null;
        });
        return new BufferRegistration(communicator, buffer, true, kernels, opened);
    }

    private static String whyWithoutEffect(int size, boolean inPlace) {
        if (size > DeviceConfig.DIRECT_RANKS) {
            return "size=" + size + ", and kernels work in place with at most " + DeviceConfig.DIRECT_RANKS + " ranks";
        }
        return inPlace ? "all ranks are threads of one process" : "not all ranks reach each other's GPUs";
    }

    private static BufferRegistration without(
            CommunicatorImpl communicator, DataBuffer buffer, boolean inPlace, String why) {
        LOG.info("rank={}: registering a buffer has no effect: {}", communicator.rank(), why);
        return new BufferRegistration(communicator, buffer, inPlace, null, Opened.NOTHING);
    }

    @Override
    public DataBuffer buffer() {
        return buffer;
    }

    @Override
    public boolean isInPlace() {
        return inPlace;
    }

    Opened opened() {
        return opened;
    }

    @Override
    public void close() {
        if (backend == null || communicator.isClosed() || !closed.compareAndSet(false, true)) {
            return;
        }
        boolean failed = communicator.hasFailed();
        Optional<String> kept = communicator.whileNothingIsIssued(() -> {
            backend.drain();
            backend.countRegistered(-1);
            return backend.device()
                    .engine()
                    .registration()
                    .closeBuffer(opened.number(), failed ? FAILED_QUIET_NANOS : QUIET_NANOS);
        });
        if (!failed) {
            agree(communicator, kept).ifPresent(reason -> {
                throw new DeviceException(
                        reason + "; the memory that was registered is still mapped there: do not free it"
                                + " before these operations have ended");
            });
        }
    }

    /** Exchanges the reasons of failures; returns that of the lowest rank that failed, empty if none has. */
    private static Optional<String> agree(CommunicatorImpl communicator, Optional<String> own) {
        List<byte[]> all = communicator.allGatherObject(bytes(own));
        for (int peer = 0; peer < all.size(); peer++) {
            if (all.get(peer).length > 0) {
                return Optional.of("rank=" + peer + ": " + new String(all.get(peer), StandardCharsets.UTF_8));
            }
        }
        return Optional.empty();
    }

    private static byte[] bytes(Optional<String> reason) {
        return reason.map(text -> text.getBytes(StandardCharsets.UTF_8)).orElse(new byte[0]);
    }

    /** The exchange in which each rank describes its buffer to all other ranks, and they open it. */
    private static final class Exchange {

        private final CommunicatorImpl communicator;
        private final DeviceEngine engine;
        private final long[] here; // for each peer, the address of its buffer in this process
        private Optional<String> failed = Optional.empty(); // reason of this rank's first failure

        Exchange(CommunicatorImpl communicator, DeviceEngine engine) {
            this.communicator = communicator;
            this.engine = engine;
            this.here = new long[communicator.size()];
        }

        Opened register(DataBuffer buffer) {
            List<OfferedDescriptor> offers = new ArrayList<>();
            boolean used = false;
            try {
                here[communicator.rank()] = buffer.address();
                open(communicator.allGatherObject(description(buffer, offers)));
                Opened opened = use(communicator.allGatherObject(outcome()));
                used = true;
                return opened;
            } finally {
                offers.forEach(OfferedDescriptor::close); // each peer has fetched the descriptors or given up
                if (!used) {
                    engine.registration().dropBuffer(FAILED_QUIET_NANOS);
                }
            }
        }

        private byte[] description(DataBuffer buffer, List<OfferedDescriptor> offers) {
            byte[] info = engine.registration()
                    .describeBuffer(buffer.address(), buffer.bytes())
                    .orElseGet(() -> {
                        fail(engine.lastError());
                        return new byte[0];
                    });
            WireWriter out = new WireWriter()
                    .blob(bytes(failed))
                    .blob(text(HostIdentity.process()))
                    .blob(info);
            for (int descriptor : engine.registration().takeBufferDescriptors()) {
                byte[] wire = new byte[0];
                if (descriptor >= 0) {
                    try {
                        OfferedDescriptor offer = OfferedDescriptor.of(descriptor);
                        offers.add(offer);
                        wire = offer.wire();
                    } catch (TransportException e) {
                        fail(e.getMessage());
                    }
                }
                out.blob(wire);
            }
            return out.toBytes();
        }

        private void open(List<byte[]> descriptions) {
            List<Description> all = new ArrayList<>();
            for (int peer = 0; peer < descriptions.size(); peer++) {
                Description one;
                try {
                    one = Description.read(descriptions.get(peer));
                } catch (WireException e) {
                    fail("rank=" + peer + " sent a description of its buffer that cannot be read, " + e.getMessage()
                            + "; all ranks must run the same library");
                    return;
                }
                if (one.failed().length > 0) {
                    throw refused(peer, new String(one.failed(), StandardCharsets.UTF_8)); // every rank throws this
                }
                all.add(one);
            }
            for (int peer = 0; peer < all.size() && failed.isEmpty(); peer++) {
                if (peer != communicator.rank()) {
                    open(peer, all.get(peer));
                }
            }
        }

        private void open(int peer, Description description) {
            int[] descriptors = {-1, -1};
            if (!HostIdentity.process().equals(new String(description.process(), StandardCharsets.UTF_8))) {
                try {
                    for (int i = 0; i < descriptors.length; i++) {
                        byte[] wire = description.wires().get(i);
                        descriptors[i] = wire.length == 0 ? -1 : OfferedDescriptor.fetch(wire);
                    }
                } catch (TransportException e) {
                    fail("descriptors of rank=" + peer + ": " + e.getMessage());
                }
            }
            here[peer] = engine.registration()
                    .openBuffer(peer, description.info(), descriptors[0], descriptors[1], QUIET_NANOS);
            if (here[peer] < 0) {
                fail(engine.lastError());
            }
        }

        private byte[] outcome() {
            WireWriter out = new WireWriter().blob(bytes(failed));
            for (long address : here) {
                out.i64(address);
            }
            return out.toBytes();
        }

        private Opened use(List<byte[]> outcomes) {
            long[] there = new long[here.length];
            for (int peer = 0; peer < outcomes.size(); peer++) {
                WireReader in = new WireReader(outcomes.get(peer));
                byte[] why = in.blob(MAX_INFO_BYTES);
                if (why.length > 0) {
                    throw refused(peer, new String(why, StandardCharsets.UTF_8));
                }
                for (int rank = 0; rank < there.length; rank++) {
                    long address = in.i64();
                    there[peer] = rank == communicator.rank() ? address : there[peer];
                }
                in.end();
            }
            long number = communicator.whileNothingIsIssued(
                    () -> engine.registration().useBuffer(there));
            if (number < Code.OK) {
                throw new JcclException("rank=" + communicator.rank() + ": " + engine.lastError());
            }
            return new Opened(number, here, there);
        }

        private void fail(String reason) {
            failed = failed.or(() -> Optional.of(reason));
        }

        private static DeviceException refused(int peer, String why) {
            return new DeviceException("the buffer cannot be registered, on rank=" + peer + ": " + why);
        }

        private static byte[] text(String value) {
            return value.getBytes(StandardCharsets.UTF_8);
        }
    }

    /** The description of a buffer, which its rank sends to all others. */
    private record Description(byte[] failed, byte[] process, byte[] info, List<byte[]> wires) {

        static Description read(byte[] sent) {
            WireReader in = new WireReader(sent);
            Description read = new Description(
                    in.blob(MAX_INFO_BYTES),
                    in.blob(MAX_INFO_BYTES),
                    in.blob(MAX_INFO_BYTES),
                    List.of(in.blob(MAX_INFO_BYTES), in.blob(MAX_INFO_BYTES)));
            in.end();
            return read;
        }
    }
}
