package io.jccl.nvls;

import io.jccl.DeviceException;
import io.jccl.TransportException;
import io.jccl.config.AlgorithmSettings;
import io.jccl.internal.Causes;
import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.OfferedDescriptor;
import io.jccl.parts.ConnectingDevice;
import io.jccl.parts.InitContext;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connects NVLS: all ranks share a multicast object, by which the switch between their GPUs reduces. Rank 0 makes the
 * object. Then all ranks join it, bind memory to it, and test it. After each step they agree whether all of them
 * succeeded.
 */
final class NvlsConnector {

    private static final Logger LOG = LoggerFactory.getLogger(NvlsConnector.class);

    private static final int MAX_INFO_BYTES = 1 << 16;
    private static final int MAKER = 0;
    private static final int REQUIRED = 1; // a value of JCCL_NVLS_ENABLE

    private final InitContext context;
    private final DeviceEngine engine;
    private final NativeNvls nvls;
    private final List<String> processes;
    private final int rank;

    NvlsConnector(InitContext context, ConnectingDevice device) {
        this.context = context;
        this.engine = device.engine();
        this.nvls = new NativeNvls(engine, context.settings().get(AlgorithmSettings.NVLS_CHUNKSIZE));
        this.processes = device.processes();
        this.rank = context.rank();
    }

    /**
     * Continues without NVLS, for a reason that all ranks know.
     *
     * @return false
     * @throws DeviceException if the settings require it
     */
    boolean without(String reason) {
        if (context.settings().get(AlgorithmSettings.NVLS_ENABLE) == REQUIRED) {
            throw new DeviceException("JCCL_NVLS_ENABLE=1: the switch between the GPUs does not reduce, " + reason
                    + "; unset it to use rings and trees");
        }
        LOG.debug("rank={}: no NVLS: {}", rank, reason);
        return false;
    }

    /** Connects NVLS; all ranks call this together. Returns true on all ranks if the switch reduces from now on. */
    boolean connect() {
        Optional<String> failed = join();
        if (failed.isEmpty()) {
            failed = agree(nvls.bind());
        }
        if (failed.isEmpty()) {
            failed = agree(nvls.test(context.left().toNanos()));
        }
        if (failed.isPresent()) {
            nvls.drop();
            LOG.info("rank={}: no NVLS: {}", rank, failed.get());
            return without(failed.get());
        }
        LOG.info("rank={}: NVLS through the switch between all GPUs", rank);
        return true;
    }

    private Optional<String> join() {
        Optional<byte[]> info = Optional.empty();
        Optional<OfferedDescriptor> offer = Optional.empty();
        Optional<String> failed = Optional.empty();
        if (rank == MAKER) {
            info = nvls.create();
            failed = info.isEmpty() ? Optional.of(engine.lastError()) : Optional.empty();
            OptionalInt descriptor = nvls.takeDescriptor();
            if (descriptor.isPresent()) {
                try {
                    offer = Optional.of(OfferedDescriptor.of(descriptor.getAsInt()));
                } catch (TransportException e) {
                    failed = Optional.of(e.getMessage());
                }
            }
        }
        try {
            byte[] wire = offer.map(OfferedDescriptor::wire).orElse(new byte[0]);
            byte[] made = context.allGather(new WireWriter()
                            .blob(failed.map(NvlsConnector::bytes).orElse(new byte[0]))
                            .blob(wire)
                            .blob(info.orElse(new byte[0]))
                            .toBytes())
                    .get(MAKER);
            return agree(join(made));
        } finally {
            offer.ifPresent(OfferedDescriptor::close); // each peer has fetched the descriptor or given up
        }
    }

    private Optional<String> join(byte[] made) {
        try {
            WireReader in = new WireReader(made);
            byte[] failed = in.blob(MAX_INFO_BYTES);
            byte[] wire = in.blob(MAX_INFO_BYTES);
            byte[] info = in.blob(MAX_INFO_BYTES);
            in.end();
            if (failed.length > 0) {
                return Optional.of(text(failed));
            }
            boolean here = processes.get(MAKER).equals(processes.get(rank));
            return nvls.join(info, here ? OptionalInt.empty() : OptionalInt.of(OfferedDescriptor.fetch(wire)));
        } catch (WireException | TransportException e) {
            return Optional.of(Causes.describe(e));
        }
    }

    /** Exchanges the ranks' failures. Returns the failure of the lowest rank that has one; empty if all succeeded. */
    private Optional<String> agree(Optional<String> own) {
        List<byte[]> all = context.allGather(own.map(NvlsConnector::bytes).orElse(new byte[0]));
        for (int peer = 0; peer < all.size(); peer++) {
            if (all.get(peer).length > 0) {
                return Optional.of("rank=" + peer + ": " + text(all.get(peer)));
            }
        }
        return Optional.empty();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
