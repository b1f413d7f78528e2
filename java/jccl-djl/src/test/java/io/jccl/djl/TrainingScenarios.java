package io.jccl.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.BatchNorm;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.TrainingResult;
import ai.djl.training.dataset.BatchSampler;
import ai.djl.training.dataset.Sampler;
import ai.djl.training.dataset.SequenceSampler;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.MismatchedCollectiveException;
import io.jccl.WireFormat;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/**
 * Scenarios of training on two ranks. {@link #main} is one of the ranks: it runs every scenario and prints whether it
 * passed. {@link TrainingTest} starts both.
 */
final class TrainingScenarios {

    /** A scenario on one rank. */
    private interface Scenario {
        void run(Communicator comm) throws Exception;
    }

    private TrainingScenarios() {}

    public static void main(String[] args) {
        Map<String, Scenario> scenarios = new LinkedHashMap<>();
        scenarios.put("sgd", comm -> equalsOneProcess(comm, TrainingScenarios::sgd));
        scenarios.put(
                "adam", comm -> equalsOneProcess(comm, () -> Optimizer.adam().build()));
        scenarios.put("small buckets", TrainingScenarios::smallBuckets);
        scenarios.put("gradients in shared memory", TrainingScenarios::gradientsInSharedMemory);
        scenarios.put("evaluators", TrainingScenarios::evaluators);
        scenarios.put("averaged statistics", TrainingScenarios::averagedStatistics);
        scenarios.put("own statistics", TrainingScenarios::ownStatistics);
        scenarios.put("transposed parameter", TrainingScenarios::transposedParameter);
        scenarios.put("unused parameter", TrainingScenarios::unusedParameter);
        scenarios.put("frozen parameter", TrainingScenarios::frozenParameter);
        scenarios.put("several types", TrainingScenarios::severalTypes);
        scenarios.put("accumulation", TrainingScenarios::accumulation);
        scenarios.put("formats", TrainingScenarios::formats);
        scenarios.put("memory", TrainingScenarios::memory);
        scenarios.put("error feedback", TrainingScenarios::errorFeedback);
        scenarios.put("first gradients", TrainingScenarios::firstGradients);
        scenarios.put("different blocks", TrainingScenarios::differentBlocks);
        scenarios.put("different freezing", TrainingScenarios::differentFreezing);
        scenarios.put("unequal batches", TrainingScenarios::unequalBatches);
        scenarios.put("not initialized", TrainingScenarios::notInitialized);
        scenarios.put("no broadcast", TrainingScenarios::noBroadcast);
        scenarios.put("other devices", TrainingScenarios::otherDevices);
        scenarios.put("unsuitable tensors", TrainingScenarios::unsuitableTensors);
        try (Communicator all = Communicator.fromEnvironment()) {
            scenarios.forEach((name, scenario) -> run(all, name, scenario));
        }
    }

    private static void run(Communicator all, String name, Scenario scenario) {
        try (Communicator comm = all.split(0, all.rank()).orElseThrow()) {
            long begin = System.nanoTime();
            scenario.run(comm);
            System.out.println("PASSED " + name + " (" + (System.nanoTime() - begin) / 1_000_000 + " ms)");
        } catch (Throwable e) {
            System.out.println("FAILED " + name);
            e.printStackTrace(System.out);
        }
    }

    private static Optimizer sgd() {
        return Optimizer.sgd().setLearningRateTracker(Tracker.fixed(0.1f)).build();
    }

    private static SequentialBlock perceptron() {
        return new SequentialBlock()
                .add(Linear.builder().setUnits(64).build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(Training.CLASSES).build());
    }

    /** Requires that 40 steps of 2 × 32 samples lead to the same parameters as those of one process with 64. */
    private static void equalsOneProcess(Communicator comm, Supplier<Optimizer> optimizer) throws Exception {
        try (Training alone = Training.alone(perceptron(), optimizer.get());
                Training together = Training.on(comm, DataParallel.over(comm), perceptron(), optimizer.get())) {
            alone.fit(64, 2);
            together.fit(32, 2);

            assertThat(together.parallel().steps()).isEqualTo(40);
            assertThat(together.parallel().epoch()).isEqualTo(2);
            assertThat(together.distance(alone)).isLessThan(1e-6);
            together.parallel().requireEqualParameters(together.trainer());
        }
    }

    private static void smallBuckets(Communicator comm) throws Exception {
        DataParallel parallel = DataParallel.builder(comm).bucketBytes(1024).build();
        try (Training alone = Training.alone(perceptron(), sgd());
                Training together = Training.on(comm, parallel, perceptron(), sgd())) {
            alone.fit(64, 1);
            together.fit(32, 1);

            assertThat(together.distance(alone)).isLessThan(1e-6);
        }
    }

    /**
     * Requires that gradients move into shared memory in the first step and stay there, and that they keep this memory
     * when the DataParallel is gone.
     */
    private static void gradientsInSharedMemory(Communicator comm) throws Exception {
        try (Training training = Training.on(comm, DataParallel.over(comm), perceptron(), sgd())) {
            training.fit(32, 1);
            List<DataBuffer> first = gradients(training);
            assertThat(first).allMatch(gradient -> gradient.memory() == DataBuffer.Memory.SHARED);
            training.fit(32, 1);
            assertThat(gradients(training).stream().map(DataBuffer::address))
                    .isEqualTo(first.stream().map(DataBuffer::address).toList());
        }
        try (Training alone = Training.alone(perceptron(), sgd());
                Training together = Training.alone(perceptron(), sgd())) {
            DataParallel once = DataParallel.over(comm);
            once.broadcast(alone.trainer());
            once.broadcast(together.trainer());
            once.averageGradients(together.trainer());
            assertThat(gradients(together)).allMatch(gradient -> gradient.memory() == DataBuffer.Memory.SHARED);
            once = null;
            for (int i = 0; i < 3; i++) {
                System.gc();
                alone.fit(64, 1);
                together.fit(64, 1);
            }
            assertThat(together.distance(alone)).isLessThan(1e-6);
        }
    }

    private static List<DataBuffer> gradients(Training training) {
        return training.trainer().getModel().getBlock().getParameters().values().stream()
                .map(parameter -> parameter.getArray().getGradient().toByteBuffer(true))
                .map(bytes -> DataBuffer.of(bytes.order(ByteOrder.nativeOrder()), io.jccl.DataType.FLOAT32))
                .toList();
    }

    /**
     * Requires that the losses and accuracies, of training and validation, equal those of one process with all samples.
     */
    private static void evaluators(Communicator comm) throws Exception {
        try (Training alone = Training.alone(perceptron(), sgd());
                Training together = Training.on(comm, DataParallel.over(comm), perceptron(), sgd())) {
            alone.fitAndValidate(64, 2);
            together.fitAndValidate(32, 2);

            TrainingResult expected = alone.trainer().getTrainingResult();
            TrainingResult actual = together.trainer().getTrainingResult();
            assertThat(actual.getEvaluations()).hasSameSizeAs(expected.getEvaluations());
            expected.getEvaluations()
                    .forEach((name, value) -> assertThat(actual.getEvaluations().get(name))
                            .as(name)
                            .isCloseTo(value, within(1e-5f)));
            assertThat(expected.getTrainLoss()).isBetween(0.01f, 2f);
        }
    }

    private static Block normalized() {
        return new SequentialBlock()
                .add(Linear.builder().setUnits(16).build())
                .add(BatchNorm.builder().build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(Training.CLASSES).build());
    }

    private static void averagedStatistics(Communicator comm) throws Exception {
        try (Training alone = Training.alone(normalized(), sgd());
                Training together = Training.on(comm, DataParallel.over(comm), normalized(), sgd())) {
            NDArray before = together.parameter("runningMean").duplicate();
            alone.fit(64, 1);
            together.fit(32, 1);

            together.parallel().requireEqualParameters(together.trainer());
            assertThat(together.parameter("runningMean").sub(before).norm().getFloat())
                    .isGreaterThan(0.1f);
            assertThat(together.distance(alone)).isBetween(1e-6, 0.2); // each rank normalizes by its own 32 samples
        }
    }

    private static void ownStatistics(Communicator comm) throws Exception {
        DataParallel parallel =
                DataParallel.builder(comm).averageStatistics(false).build();
        try (Training together = Training.on(comm, parallel, normalized(), sgd())) {
            together.fit(32, 1);

            assertThatThrownBy(() -> parallel.requireEqualParameters(together.trainer()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll("rank=1", "runningMean", "expected", "as on rank 0", "broadcast");
        }
    }

    /**
     * The elements of the parameter and of its gradient are not in the order of memory, so {@link TensorView} copies.
     */
    private static void transposedParameter(Communicator comm) throws Exception {
        try (Training alone = Training.alone(new Transposed(), sgd());
                Training together = Training.on(comm, DataParallel.over(comm), new Transposed(), sgd())) {
            alone.fit(64, 2);
            together.fit(32, 2);

            NDArray weight = together.parameter("weight");
            assertThat(TensorView.of("weight", weight).isCopy()).isTrue();
            assertThat(TensorView.of("gradient", weight.getGradient()).isCopy()).isTrue();
            assertThat(TensorView.of("weight", weight.duplicate().reshape(-1)).isCopy())
                    .isFalse();
            assertThat(together.distance(alone)).isLessThan(1e-6);
            together.parallel().requireEqualParameters(together.trainer());
        }
    }

    /** Rank 1 leaves a layer out of its forward pass, and yet receives the average of the layer's gradient. */
    private static void unusedParameter(Communicator comm) throws Exception {
        Block extra = Linear.builder().setUnits(Training.CLASSES).build();
        Block block = new SequentialBlock()
                .add(Linear.builder().setUnits(Training.CLASSES).build())
                .add(new OnlyOn(comm.rank() == 0, extra));
        try (Training together = Training.on(comm, DataParallel.over(comm), block, sgd())) {
            NDArray before = extra.getParameters().get(0).getValue().getArray().duplicate();
            together.fit(32, 1);

            NDArray after = extra.getParameters().get(0).getValue().getArray();
            assertThat(after.sub(before).norm().getFloat()).isGreaterThan(0.01f);
            together.parallel().requireEqualParameters(together.trainer());
        }
    }

    private static void frozenParameter(Communicator comm) throws Exception {
        Block block = perceptron();
        try (Training together = Training.on(comm, DataParallel.over(comm), block, sgd())) {
            Parameter weight = block.getParameters().get(0).getValue();
            NDArray before = weight.getArray().duplicate();
            weight.freeze(true);
            together.fit(32, 1);
            assertThat(weight.getArray()).isEqualTo(before);

            weight.freeze(false);
            together.fit(32, 1);
            assertThat(weight.getArray()).isNotEqualTo(before);
            together.parallel().requireEqualParameters(together.trainer());
        }
    }

    /**
     * Averages the gradients of a float32 layer followed by a float64 layer. The test takes no step, because DJL's
     * trainer cannot step over float64.
     */
    private static void severalTypes(Communicator comm) {
        try (Training alone = Training.alone(mixed(), sgd());
                Training together = Training.on(comm, DataParallel.over(comm), mixed(), sgd())) {
            alone.backward(0, 64, 1);
            together.backward(32 * comm.rank(), 32, 1);
            together.parallel().averageGradients(together.trainer());

            for (String name : new String[] {"Linear_weight", "Linear_bias", "Doubles_weight"}) {
                NDArray expected = alone.parameter(name).getGradient();
                NDArray actual = together.parameter(name).getGradient();
                assertThat(actual.getDataType()).isEqualTo(expected.getDataType());
                assertThat(actual.allClose(expected, 1e-5, 1e-6, false))
                        .as(name)
                        .isTrue();
            }
            assertThat(together.parameter("Doubles_weight").getDataType()).isEqualTo(DataType.FLOAT64);
        }
    }

    private static Block mixed() {
        return new SequentialBlock()
                .add(Linear.builder().setUnits(Training.CLASSES).build())
                .add(new Doubles());
    }

    /** Accumulates gradients in the application's own loop: each step has two backward passes of 16 samples. */
    private static void accumulation(Communicator comm) {
        try (Training alone = Training.alone(perceptron(), sgd());
                Training together = Training.on(comm, DataParallel.over(comm), perceptron(), sgd())) {
            for (int step = 0; step < 10; step++) {
                alone.backward(64 * step, 64, 1);
                alone.trainer().step();
                for (int half = 0; half < 2; half++) {
                    together.backward(64 * step + 32 * comm.rank() + 16 * half, 16, 0.5f);
                }
                together.parallel().averageGradients(together.trainer());
                together.trainer().step();
            }
            assertThat(together.distance(alone)).isLessThan(1e-6);
        }
    }

    private static void formats(Communicator comm) throws Exception {
        Map<WireFormat, Double> most = new LinkedHashMap<>(); // both ranks try the formats in this order
        most.put(WireFormat.FLOAT16, 1e-3);
        most.put(WireFormat.BFLOAT16, 1e-2);
        most.put(WireFormat.FLOAT8_BLOCK, 3e-2);
        most.put(WireFormat.INT8_BLOCK, 3e-2);
        for (Map.Entry<WireFormat, Double> format : most.entrySet()) {
            DataParallel parallel = DataParallel.builder(comm)
                    .compression(format.getKey())
                    .bucketBytes(2048)
                    .build();
            try (Training alone = Training.alone(perceptron(), sgd());
                    Training together = Training.on(comm, parallel, perceptron(), sgd())) {
                alone.fit(64, 2);
                together.fit(32, 2);

                assertThat(together.distance(alone))
                        .as(format.getKey().toString())
                        .isBetween(1e-7, format.getValue());
                parallel.requireEqualParameters(together.trainer());
            }
        }
    }

    /** Requires that averaging leaves no array behind in DJL's managers. */
    private static void memory(Communicator comm) {
        DataParallel parallel =
                DataParallel.builder(comm).compression(WireFormat.FLOAT16).build();
        try (Training together = Training.on(comm, parallel, new Transposed(), sgd())) {
            Trainer trainer = together.trainer();
            together.backward(32 * comm.rank(), 32, 1);
            parallel.averageGradients(trainer);
            int before = arrays(trainer);
            for (int step = 0; step < 5; step++) {
                parallel.averageGradients(trainer);
            }
            assertThat(arrays(trainer)).isEqualTo(before);
        }
    }

    private static int arrays(Trainer trainer) {
        return trainer.getManager().getManagedArrays().size()
                + trainer.getModel().getNDManager().getManagedArrays().size();
    }

    /** In float16 a gradient of 1 + 2^-13 becomes 1: without error feedback, 1024 steps would lose 1/8 in total. */
    private static void errorFeedback(Communicator comm) {
        DataParallel parallel =
                DataParallel.builder(comm).compression(WireFormat.FLOAT16).build();
        Optimizer descent =
                Optimizer.sgd().setLearningRateTracker(Tracker.fixed(1)).build();
        try (Training together = Training.on(comm, parallel, new Scalar(), descent)) {
            Trainer trainer = together.trainer();
            NDArray weight = together.parameter("weight");
            NDArray factor = trainer.getManager().create(1 + 0x1p-13f);
            float begin = weight.getFloat();
            for (int step = 0; step < 1024; step++) {
                try (GradientCollector collector = trainer.newGradientCollector()) {
                    collector.backward(weight.mul(factor).sum());
                }
                parallel.averageGradients(trainer);
                trainer.step();
            }
            assertThat(begin - weight.getFloat()).isCloseTo(1024 + 0x1p-3f, within(0x1p-9f));
        }
    }

    /** Gradients begin at zero, even if the garbage collector frees what the engine still reads in a backward pass. */
    private static void firstGradients(Communicator comm) throws Exception {
        AtomicBoolean ended = new AtomicBoolean();
        Thread collecting = new Thread(() -> {
            while (!ended.get()) {
                System.gc();
                for (int i = 0; i < 1000; i++) {
                    ByteBuffer.allocateDirect(4).putInt(-1); // reuses what has just been freed
                }
            }
        });
        collecting.start();
        try {
            for (int round = 0; round < 10; round++) {
                Block block = new Unused(8, 1 << 20);
                try (Training together = Training.on(comm, DataParallel.over(comm), block, sgd())) {
                    for (int i = 0; i < 8; i++) {
                        NDArray gradient = together.parameter("weight" + i).getGradient();
                        assertThat(gradient.norm().getFloat()).isZero();
                    }
                }
            }
        } finally {
            ended.set(true);
            collecting.join();
        }
    }

    private static void differentBlocks(Communicator comm) {
        Block block = new SequentialBlock()
                .add(Linear.builder().setUnits(8).build())
                .add(Linear.builder().setUnits(Training.CLASSES + comm.rank()).build());
        assertThatThrownBy(() -> Training.on(comm, DataParallel.over(comm), block, sgd()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("rank=1 parameters[2]=", "Linear_weight (5, 8) float32", "expected", "(4, 8)");
    }

    private static void differentFreezing(Communicator comm) throws Exception {
        Block block = new SequentialBlock()
                .add(Linear.builder().setUnits(Training.FEATURES).build())
                .add(Linear.builder().setUnits(Training.FEATURES).build())
                .add(Linear.builder().setUnits(Training.CLASSES).build());
        try (Training together = Training.on(comm, DataParallel.over(comm), block, sgd())) {
            block.getParameters().get(2 * comm.rank()).getValue().freeze(true);

            assertThatThrownBy(() -> together.fit(32, 1))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContainingAll("rank=" + comm.rank(), "freeze the same parameters on all ranks");
        }
    }

    /** Rank 1 ends its epoch after two batches, while rank 0 averages the gradients of a third. */
    private static void unequalBatches(Communicator comm) {
        Sampler sampler = new BatchSampler(new SequenceSampler(), comm.rank() == 0 ? 320 : 640);
        try (Training together = Training.on(comm, DataParallel.over(comm), perceptron(), sgd())) {
            assertThatThrownBy(() -> EasyTrain.fit(together.trainer(), 1, together.dataset(sampler), null))
                    .isInstanceOf(MismatchedCollectiveException.class);
            assertThat(together.parallel().steps()).isEqualTo(2);
        }
    }

    private static void notInitialized(Communicator comm) {
        DataParallel parallel = DataParallel.over(comm);
        try (Training alone = Training.uninitialized(parallel, perceptron(), sgd())) {
            assertThatThrownBy(() -> parallel.broadcast(alone.trainer()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll("Linear_weight not initialized", "trainer.initialize");
        }
    }

    private static void noBroadcast(Communicator comm) {
        DataParallel parallel = DataParallel.over(comm);
        try (Training alone = Training.uninitialized(parallel, perceptron(), sgd())) {
            alone.trainer().initialize(new Shape(32, Training.FEATURES));

            assertThatThrownBy(() -> EasyTrain.fit(alone.trainer(), 1, alone.dataset(parallel.sampler(32)), null))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("call broadcast(trainer) after trainer.initialize");
        }
    }

    /** DJL gives no access to the arrays of further devices, so trainers with several devices are refused. */
    private static void otherDevices(Communicator comm) {
        refusesDevices(comm, "devices.length=2: expected one device for each rank", Device.cpu(), Device.gpu());
        refusesDevices(comm, "Linear_weight.device=cpu(): expected gpu(0), the trainer's device", Device.gpu());
    }

    private static void refusesDevices(Communicator comm, String message, Device... devices) {
        try (Model model = Model.newInstance("model")) {
            model.setBlock(perceptron());
            model.getBlock().initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, Training.FEATURES));
            try (Trainer trainer = model.newTrainer(new DefaultTrainingConfig(Loss.l2Loss()).optDevices(devices))) {
                assertThatThrownBy(() -> DataParallel.over(comm).broadcast(trainer))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining(message);
            }
        }
    }

    private static void unsuitableTensors(Communicator comm) {
        try (NDManager manager = NDManager.newBaseManager()) {
            NDArray sparse =
                    manager.createCoo(FloatBuffer.wrap(new float[] {1}), new long[][] {{0}, {1}}, new Shape(2, 2));
            assertThatThrownBy(() -> TensorView.of("weight.gradient", sparse))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll("weight.gradient=COO", "expected a dense tensor");
            TensorView integers = TensorView.of("weight.gradient", manager.create(new int[] {1}));
            assertThatThrownBy(integers::type)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll("type=int32", "expected float16, bfloat16, float32 or float64");
        }
    }

    /** A linear layer whose weight is a transposed view. */
    private static final class Transposed extends TestBlock {

        private final Parameter weight = parameter("weight");

        @Override
        void makeParameters(NDManager manager) {
            weight.setArray(manager.randomNormal(new Shape(Training.CLASSES, Training.FEATURES))
                    .transpose()
                    .stopGradient());
        }

        @Override
        NDArray forward(NDArray input) {
            return input.matMul(weight.getArray());
        }
    }

    /** Multiplies each column by a float64 parameter. */
    private static final class Doubles extends TestBlock {

        private final Parameter weight = parameter("weight");

        @Override
        void makeParameters(NDManager manager) {
            weight.setArray(manager.ones(new Shape(Training.CLASSES), DataType.FLOAT64));
        }

        @Override
        NDArray forward(NDArray input) {
            return input.mul(weight.getArray());
        }
    }

    /** Multiplies its input by a parameter that is a single number. */
    private static final class Scalar extends TestBlock {

        private final Parameter weight = parameter("weight");

        @Override
        void makeParameters(NDManager manager) {
            weight.setArray(manager.create(new float[] {1}));
        }

        @Override
        NDArray forward(NDArray input) {
            return input.mul(weight.getArray());
        }
    }

    /** Returns its input, and has parameters that it does not use. */
    private static final class Unused extends TestBlock {

        private final List<Parameter> weights = new ArrayList<>();
        private final int elements;

        Unused(int count, int elements) {
            this.elements = elements;
            for (int i = 0; i < count; i++) {
                weights.add(parameter("weight" + i));
            }
        }

        @Override
        void makeParameters(NDManager manager) {
            weights.forEach(weight -> weight.setArray(manager.ones(new Shape(elements))));
        }

        @Override
        NDArray forward(NDArray input) {
            return input;
        }
    }

    /** Adds the output of another block to its input if {@code used}; otherwise returns the input. */
    private static final class OnlyOn extends TestBlock {

        private final boolean used;
        private final Block block;

        OnlyOn(boolean used, Block block) {
            this.used = used;
            this.block = addChildBlock("extra", block);
        }

        @Override
        public void initializeChildBlocks(NDManager manager, DataType type, Shape... inputs) {
            block.initialize(manager, type, inputs);
        }

        @Override
        NDArray forward(NDArray input) {
            return used
                    ? input.add(
                            block.forward(parameters(), new NDList(input), true).singletonOrThrow())
                    : input;
        }
    }
}
