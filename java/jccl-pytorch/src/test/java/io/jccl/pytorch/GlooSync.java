package io.jccl.pytorch;

import io.jccl.Communicator;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.BackendOptional;
import org.bytedeco.pytorch.BoolVector;
import org.bytedeco.pytorch.FileStore;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.ProcessGroup;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.Reducer;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.SizeTStringMap;
import org.bytedeco.pytorch.SizeTVector;
import org.bytedeco.pytorch.SizeTVectorVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.Work;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.jspecify.annotations.Nullable;

/** Averages gradients with the preset's Gloo: after the backward pass, or during it with libtorch's Reducer. */
final class GlooSync implements StepBenchmark.GradientSync {

    private final List<Tensor> parameters;
    private final ProcessGroupGloo gloo;
    private final @Nullable ProcessGroup group; // null without a Reducer, which needs it
    private final @Nullable Reducer reducer;

    /** @param bucketBytes the size of the Reducer's buckets; 0 for no Reducer */
    GlooSync(Communicator comm, List<Tensor> parameters, long bucketBytes) {
        this.parameters = parameters;
        byte[] name = (System.getProperty("java.io.tmpdir") + "/jccl-gloo-" + System.nanoTime())
                .getBytes(StandardCharsets.UTF_8);
        FileStore store = new FileStore(new String(comm.broadcastBytes(name, 0), StandardCharsets.UTF_8), comm.size());
        ProcessGroupGloo.Options options = ProcessGroupGloo.Options.create();
        options.devices().put(ProcessGroupGloo.createDeviceForHostname("127.0.0.1"));
        options.threads(2);
        gloo = new ProcessGroupGloo(store, comm.rank(), comm.size(), options);
        group = bucketBytes == 0 ? null : new ProcessGroup(comm.rank(), comm.size());
        reducer = bucketBytes == 0 ? null : reducer(bucketBytes);
    }

    private Reducer reducer(long bucketBytes) {
        group.setBackend(DeviceType.CPU, ProcessGroup.BackendType.GLOO, new BackendOptional(gloo));
        group.setDefaultBackend(ProcessGroup.BackendType.GLOO);
        List<SizeTVector> buckets = new ArrayList<>();
        long bytes = 0;
        for (int i = parameters.size() - 1; i >= 0; i--) {
            long more = Tensors.bytes(parameters.get(i));
            if (buckets.isEmpty() || bytes + more > bucketBytes) {
                buckets.add(new SizeTVector());
                bytes = 0;
            }
            buckets.get(buckets.size() - 1).push_back(i);
            bytes += more;
        }
        boolean[] dense = new boolean[parameters.size()];
        return newReducer(
                new TensorVector(parameters.toArray(Tensor[]::new)),
                new SizeTVectorVector(buckets.toArray(SizeTVector[]::new)),
                group,
                new BoolVector(dense),
                bucketBytes,
                false,
                false,
                new SizeTStringMap(),
                bucketBytes,
                false,
                false);
    }

    /** Calls the constructor of the preset's version: from 2.13 on, it has an additional list, which may be empty. */
    private static Reducer newReducer(Object... arguments) {
        try {
            for (Constructor<?> one : Reducer.class.getConstructors()) {
                Class<?>[] types = one.getParameterTypes();
                if (types.length == arguments.length) {
                    return (Reducer) one.newInstance(arguments);
                }
                if (types.length == arguments.length + 1 && types[arguments.length] == LongVector.class) {
                    Object[] more = Arrays.copyOf(arguments, types.length);
                    more[arguments.length] = new LongVector();
                    return (Reducer) one.newInstance(more);
                }
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
        throw new IllegalStateException(
                "Reducer has no known constructor: " + Arrays.toString(Reducer.class.getConstructors()));
    }

    @Override
    public void begin() {
        if (reducer != null) {
            reducer.prepare_for_forward();
            reducer.prepare_for_backward(new TensorVector());
        }
    }

    @Override
    public void finish() {
        if (reducer != null) {
            return; // backward() has waited
        }
        List<Work> works = parameters.stream()
                .map(parameter -> gloo.allreduce(new TensorVector(parameter.grad())))
                .toList();
        for (int i = 0; i < works.size(); i++) {
            works.get(i)._wait();
            parameters.get(i).grad().div_(new Scalar(gloo.getSize()));
        }
    }
}
