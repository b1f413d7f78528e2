package io.jccl.init;

import io.jccl.nativelib.NativeEngine;
import io.jccl.parts.ConnectingDevice;
import io.jccl.parts.Extension;
import io.jccl.parts.WindowSharing;
import io.jccl.planning.Plan;
import io.jccl.tuning.AddedGpuAlgorithm;
import io.jccl.tuning.AddedHostAlgorithm;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The extensions of all parts, as one.
 *
 * @param all in an order that is the same on all ranks, because the ranks take each step of each extension together
 */
record Extensions(List<Extension> all) implements Extension {

    @Override
    public List<AddedHostAlgorithm> connectHosts(NativeEngine engine, Plan plan) {
        List<AddedHostAlgorithm> added = new ArrayList<>();
        all.forEach(one -> added.addAll(one.connectHosts(engine, plan)));
        return added;
    }

    @Override
    public void setUpDevice(ConnectingDevice device) {
        all.forEach(one -> one.setUpDevice(device));
    }

    @Override
    public List<AddedGpuAlgorithm> connectDevice(ConnectingDevice device, Optional<NativeEngine> staging) {
        List<AddedGpuAlgorithm> added = new ArrayList<>();
        all.forEach(one -> added.addAll(one.connectDevice(device, staging)));
        return added;
    }

    @Override
    public List<AddedGpuAlgorithm> completeDevice(ConnectingDevice device, Optional<NativeEngine> staging) {
        List<AddedGpuAlgorithm> added = new ArrayList<>();
        all.forEach(one -> added.addAll(one.completeDevice(device, staging)));
        return added;
    }

    @Override
    public List<WindowSharing> windowSharings(ConnectingDevice device) {
        return all.stream().flatMap(one -> one.windowSharings(device).stream()).toList();
    }
}
