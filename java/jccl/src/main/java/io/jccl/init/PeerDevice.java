package io.jccl.init;

import io.jccl.config.AlgorithmSettings;
import io.jccl.config.Settings;
import io.jccl.nativelib.CudaLoader;
import io.jccl.nativelib.DeviceConfig;
import io.jccl.nativelib.DeviceEngine;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The GPU of a rank, as its peers know it.
 *
 * @param ordinal the GPU's number in the rank's process
 * @param uuid the GPU's id, the same for all ranks that share it
 * @param busId the GPU's PCI bus id, as the kernel spells it
 * @param capability the compute capability times ten
 * @param blocks the number of kernel blocks that can be resident at the same time, of all ranks that share the GPU
 * @param freeBlocks how many of these blocks no communicator of the rank's process uses
 * @param servedByMps true if an MPS server runs the rank's kernels together with those of other processes
 */
record PeerDevice(
        int ordinal, String uuid, String busId, int capability, int blocks, int freeBlocks, boolean servedByMps) {

    private static final Logger LOG = LoggerFactory.getLogger(PeerDevice.class);

    private static final int MIN_THREADS = 64;

    private static final int MAX_CHARS = 64;

    /**
     * Returns the GPU that the settings assign to this rank; empty if they assign none.
     *
     * @throws io.jccl.DeviceException if the GPU or the software to use it is missing
     */
    static Optional<PeerDevice> of(Settings settings) {
        Optional<Integer> device = settings.get(AlgorithmSettings.DEVICE);
        if (device.isEmpty()) {
            return Optional.empty();
        }
        int ordinal = device.get();
        DeviceEngine.Description found = DeviceEngine.describe(ordinal);
        LOG.info("device={}: {}", ordinal, CudaLoader.driver());
        DeviceEngine.BlockBudget budget = DeviceEngine.blockBudget(ordinal, threads(settings));
        return Optional.of(new PeerDevice(
                ordinal,
                found.uuid(),
                found.busId(),
                found.capability(),
                budget.blocks(),
                budget.free(),
                found.servedByMps()));
    }

    /** Returns the number of threads of a block. */
    static int threads(Settings settings) {
        int asked = settings.get(AlgorithmSettings.NTHREADS);
        return asked == 0 ? DeviceConfig.MAX_THREADS : Math.max(MIN_THREADS, Math.min(DeviceConfig.MAX_THREADS, asked));
    }

    void write(WireWriter out) {
        out.i32(ordinal).text(uuid, MAX_CHARS).text(busId, MAX_CHARS);
        out.i32(capability).i32(blocks).i32(freeBlocks).flag(servedByMps);
    }

    static PeerDevice read(WireReader in) {
        return new PeerDevice(
                in.i32(), in.text(MAX_CHARS), in.text(MAX_CHARS), in.i32(), in.i32(), in.i32(), in.flag());
    }
}
