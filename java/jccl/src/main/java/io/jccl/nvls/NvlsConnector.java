package io.jccl.nvls;

import io.jccl.DeviceException;
import io.jccl.config.AlgorithmSettings;
import io.jccl.nativelib.DeviceEngine;
import io.jccl.parts.ConnectingDevice;
import io.jccl.parts.InitContext;
import io.jccl.parts.WindowSharing;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Connects NVLS: all ranks share a multicast object, by which the switch between their GPUs reduces, and test it. */
final class NvlsConnector {

    private static final Logger LOG = LoggerFactory.getLogger(NvlsConnector.class);

    private static final int REQUIRED = 1; // a value of JCCL_NVLS_ENABLE

    private final InitContext context;
    private final DeviceEngine engine;
    private final NativeNvls nvls;
    private final List<String> processes;
    private final int rank;

    NvlsConnector(InitContext context, ConnectingDevice device) {
        this.context = context;
        this.engine = device.engine();
        this.nvls = natives(context, device);
        this.processes = device.processes();
        this.rank = context.rank();
    }

    private static NativeNvls natives(InitContext context, ConnectingDevice device) {
        return new NativeNvls(device.engine(), context.settings().get(AlgorithmSettings.NVLS_CHUNKSIZE));
    }

    /** Returns what shares symmetric memory once NVLS is connected. */
    static WindowSharing windows(InitContext context, ConnectingDevice device) {
        return new NvlsWindows(device.engine(), natives(context, device), device.processes(), context.rank());
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
        MulticastObject object = new MulticastObject(engine, nvls, processes, rank, context::allGather);
        Optional<String> failed = object.share(new MulticastObject.Natives() {
            @Override
            public Optional<byte[]> create() {
                return nvls.create();
            }

            @Override
            public Optional<String> join(byte[] info, OptionalInt descriptor) {
                return nvls.join(info, descriptor);
            }

            @Override
            public Optional<String> bind() {
                return nvls.bind();
            }
        });
        if (failed.isEmpty()) {
            failed = object.agree(nvls.test(context.left().toNanos()));
        }
        if (failed.isPresent()) {
            nvls.drop();
            LOG.info("rank={}: no NVLS: {}", rank, failed.get());
            return without(failed.get());
        }
        LOG.info("rank={}: NVLS through the switch between all GPUs", rank);
        return true;
    }
}
