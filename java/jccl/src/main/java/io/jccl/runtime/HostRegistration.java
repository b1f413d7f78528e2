package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.JcclException;
import io.jccl.PeerTransport;
import io.jccl.Registration;
import io.jccl.TransportKind;
import io.jccl.bootstrap.WireReader;
import io.jccl.bootstrap.WireWriter;
import io.jccl.nativelib.NativeMemory;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Memory of the host that the ranks of other processes use in place while it is registered, or that needs no registration. */
public final class HostRegistration implements Registration {

    /** Below, an operation gains less than registering costs in any program. */
    static final long MIN_BYTES = 1 << 20;

    private static final Logger LOG = LoggerFactory.getLogger(HostRegistration.class);

    private static final int MAX_REASON_BYTES = 1 << 16;
    private static final long NONE = 0;

    private final CommunicatorImpl communicator;
    private final DataBuffer buffer;
    private final boolean inPlace;
    private final long number; // of the native registration; NONE: nothing is registered
    private final AtomicBoolean closed = new AtomicBoolean();
    private final AtomicBoolean ended = new AtomicBoolean();

    private HostRegistration(CommunicatorImpl communicator, DataBuffer buffer, boolean inPlace, long number) {
        this.communicator = communicator;
        this.buffer = buffer;
        this.inPlace = inPlace;
        this.number = number;
    }

    /**
     * Registers a buffer; all ranks do this together.
     *
     * @param host executes operations on it, and ends registrations that nobody has closed
     * @throws JcclException on all ranks, if any of them cannot register its buffer; it says which, and why
     */
    static HostRegistration of(CommunicatorImpl communicator, HostBackend host, DataBuffer buffer) {
        Reach reach = Reach.of(communicator.transports());
        long number = NONE;
        String refused = "";
        if (reach == Reach.PROCESSES && buffer.memory() != DataBuffer.Memory.SHARED) {
            communicator.whileNothingIsIssued(() -> {
                communicator.drainHost();
                return null;
            });
            try {
                number = registered(buffer);
            } catch (JcclException e) {
                refused = e.getMessage();
            }
        }
        boolean used = false;
        try {
            Optional<String> anyRefused = Optional.empty();
            List<byte[]> all = communicator.allGatherObject(new WireWriter()
                    .blob(refused.getBytes(StandardCharsets.UTF_8))
                    .i64(reach.ordinal())
                    .toBytes());
            for (int rank = 0; rank < all.size(); rank++) {
                WireReader in = new WireReader(all.get(rank));
                String why = new String(in.blob(MAX_REASON_BYTES), StandardCharsets.UTF_8);
                if (in.i64() == Reach.NETWORK.ordinal()) {
                    reach = Reach.NETWORK;
                }
                in.end();
                if (!why.isEmpty() && anyRefused.isEmpty()) {
                    anyRefused = Optional.of("the buffer cannot be registered, on rank=" + rank + ": " + why);
                }
            }
            if (anyRefused.isPresent()) {
                throw new JcclException(anyRefused.get());
            }
            used = reach == Reach.PROCESSES;
        } finally {
            if (!used && number != NONE) {
                NativeMemory.endRegistration(number);
                number = NONE;
            }
        }
        if (number == NONE) {
            LOG.info("rank={}: registering {} has no effect: {}", communicator.rank(), buffer, reach.why);
        }
        HostRegistration registration = new HostRegistration(communicator, buffer, reach != Reach.NETWORK, number);
        host.keep(registration);
        return registration;
    }

    private static long registered(DataBuffer buffer) {
        if (buffer.bytes() < MIN_BYTES) {
            throw new JcclException("bytes=" + buffer.bytes() + ": expected at least " + MIN_BYTES
                    + ", from where on it can pay; use HostBuffer.allocate for smaller buffers");
        }
        return NativeMemory.registered(buffer.address(), buffer.bytes());
    }

    @Override
    public DataBuffer buffer() {
        return buffer;
    }

    @Override
    public boolean isInPlace() {
        return inPlace;
    }

    @Override
    public void close() {
        if (communicator.isClosed() || !closed.compareAndSet(false, true)) {
            return;
        }
        communicator.whileNothingIsIssued(() -> {
            if (!communicator.hasFailed()) {
                communicator.drainHost();
            }
            communicator.forget(this);
            return null;
        });
        end();
        if (!communicator.hasFailed()) {
            communicator.allGatherObject(new byte[0]); // so that it returns when all have
        }
    }

    /** Gives the buffer private memory again; no operation over it is executed any more. */
    void end() {
        if (number == NONE || !ended.compareAndSet(false, true)) {
            return;
        }
        if (!NativeMemory.endRegistration(number)) {
            LOG.warn(
                    "rank={}: {} was freed while it was registered, and used through slots if at all since; close the"
                            + " registration before its memory is freed",
                    communicator.rank(),
                    buffer);
        }
    }

    /** How the other ranks reach memory of this one. */
    private enum Reach {
        THREADS("all ranks are threads of one process, which work in place on all memory"),
        PROCESSES("it is memory of HostBuffer, which the ranks of this host use in place without"),
        NETWORK("not all ranks share memory on one host");

        private final String why;

        Reach(String why) {
            this.why = why;
        }

        static Reach of(List<PeerTransport> transports) {
            Reach reach = THREADS;
            for (PeerTransport one : transports) {
                if (one.kind().isNetwork()) {
                    return NETWORK;
                }
                reach = one.kind() == TransportKind.SHM ? PROCESSES : reach;
            }
            return reach;
        }
    }
}
