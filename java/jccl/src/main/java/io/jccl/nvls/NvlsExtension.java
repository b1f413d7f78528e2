package io.jccl.nvls;

import io.jccl.nativelib.NativeEngine;
import io.jccl.parts.ConnectingDevice;
import io.jccl.parts.Extension;
import io.jccl.parts.InitContext;
import io.jccl.parts.WindowSharing;
import io.jccl.tuning.AddedGpuAlgorithm;
import java.util.List;
import java.util.Optional;

/** Adds NVLS to a communicator. */
final class NvlsExtension implements Extension {

    private final InitContext context;
    private boolean connected;

    NvlsExtension(InitContext context) {
        this.context = context;
    }

    @Override
    public List<AddedGpuAlgorithm> completeDevice(ConnectingDevice device, Optional<NativeEngine> staging) {
        NvlsConnector connector = new NvlsConnector(context, device);
        if (staging.isPresent()) {
            connected = connector.without("GPUs do not reach each other's memory");
        } else if (!isExpected(device)) {
            connected = connector.without(
                    "it needs one host with a separate GPU for each rank, and an NVSwitch that can reduce");
        } else {
            connected = connector.connect();
        }
        return connected ? List.of(new NvlsAlgorithm()) : List.of();
    }

    @Override
    public List<WindowSharing> windowSharings(ConnectingDevice device) {
        return connected ? List.of(NvlsConnector.windows(context, device)) : List.of();
    }

    /** Returns true if the plan expects that the switch reduces. All ranks get the same answer. */
    private boolean isExpected(ConnectingDevice device) {
        return NvlsPart.isAllowed(context.settings())
                && device.plan().gpu().map(gpu -> gpu.shape().hasSwitch()).orElse(false);
    }
}
