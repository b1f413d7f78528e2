package io.jccl.nvls;

import io.jccl.nativelib.DeviceEngine;
import io.jccl.parts.WindowSharing;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Binds symmetric windows to multicast objects, so that the switch works on them without slots. */
final class NvlsWindows implements WindowSharing {

    private static final Logger LOG = LoggerFactory.getLogger(NvlsWindows.class);

    private final DeviceEngine engine;
    private final NativeNvls nvls;
    private final List<String> processes;
    private final int rank;

    /** @param processes the process of each rank, by rank */
    NvlsWindows(DeviceEngine engine, NativeNvls nvls, List<String> processes, int rank) {
        this.engine = engine;
        this.nvls = nvls;
        this.processes = processes;
        this.rank = rank;
    }

    @Override
    public void share(long window, Ranks ranks) {
        MulticastObject object = new MulticastObject(engine, nvls, processes, rank, ranks::allGather);
        Optional<String> failed = object.share(new MulticastObject.Natives() {
            @Override
            public Optional<byte[]> create() {
                return ranks.whileNothingIsIssued(() -> nvls.createWindow(window));
            }

            @Override
            public Optional<String> join(byte[] info, OptionalInt descriptor) {
                return ranks.whileNothingIsIssued(() -> nvls.joinWindow(window, info, descriptor));
            }

            @Override
            public Optional<String> bind() {
                return ranks.whileNothingIsIssued(() -> nvls.bindWindow(window));
            }
        });
        if (failed.isPresent()) {
            ranks.whileNothingIsIssued(() -> {
                nvls.dropWindow(window);
                return null;
            });
            LOG.info("rank={}: NVLS copies symmetric memory through its slots: {}", rank, failed.get());
        } else {
            LOG.debug("rank={}: NVLS works on symmetric memory without slots", rank);
        }
    }

    @Override
    public void drop(long window) {
        nvls.dropWindow(window);
    }
}
