package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.JcclException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Registers host memory: on all ranks, or on none. */
final class HostRegistrar {

    private static final Logger LOG = LoggerFactory.getLogger(HostRegistrar.class);

    private static final int MAX_REFUSAL_BYTES = 1 << 16;

    private final CommunicatorImpl communicator;
    private final HostBackend host;

    HostRegistrar(CommunicatorImpl communicator, HostBackend host) {
        this.communicator = communicator;
        this.host = host;
    }

    /**
     * Registers a buffer; all ranks call this together.
     *
     * @throws IllegalStateException if the buffer belongs to a HostBuffer that is closed
     * @throws JcclException on all ranks if any rank cannot register its buffer; the message names that rank and the
     *     reason
     */
    HostRegistration register(DataBuffer buffer) {
        HostRegistration registration =
                new HostRegistration(communicator, host.queue().engine(), buffer);
        boolean used = false;
        try {
            MemoryReach reach = agree(MemoryReach.of(communicator.transports()), registration);
            used = registration.use(reach);
            if (!used) {
                LOG.info("rank={}: registering {} has no effect: {}", communicator.rank(), buffer, reach.why());
            }
        } finally {
            if (!used) {
                registration.end();
            }
        }
        host.keep(registration);
        return registration;
    }

    /**
     * Registers this rank's memory, and exchanges the outcome with all ranks.
     *
     * @param own the reach of this rank
     * @return the farthest reach of all ranks
     */
    private MemoryReach agree(MemoryReach own, HostRegistration registration) {
        String refusal = own.usesRegistered() ? adopt(registration) : "";
        List<byte[]> all = communicator.allGatherObject(new WireWriter()
                .blob(refusal.getBytes(StandardCharsets.UTF_8))
                .i64(own.ordinal())
                .toBytes());
        MemoryReach reach = own;
        for (int rank = 0; rank < all.size(); rank++) {
            WireReader in = new WireReader(all.get(rank));
            String why = new String(in.blob(MAX_REFUSAL_BYTES), StandardCharsets.UTF_8);
            reach = reach.farther(MemoryReach.values()[Math.toIntExact(in.i64())]);
            in.end();
            if (!why.isEmpty()) {
                throw new JcclException("the buffer cannot be registered, on rank=" + rank + ": " + why);
            }
        }
        return reach;
    }

    /** Registers this rank's memory; returns the reason of a failure, or an empty text. */
    private String adopt(HostRegistration registration) {
        communicator.whileNothingIsIssued(() -> {
            communicator.drainHost();
            return null;
        });
        try {
            registration.adopt();
            return "";
        } catch (JcclException e) {
            return e.getMessage();
        }
    }
}
