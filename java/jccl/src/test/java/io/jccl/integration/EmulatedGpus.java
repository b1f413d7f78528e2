package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import io.jccl.SymmetricMemory;
import io.jccl.Work;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** Emulated GPUs for tests: two by default. They need no driver and no GPU. */
final class EmulatedGpus {

    private static final int SUMMED = 100_000; // elements

    /** System property with the path of the library that emulates GPUs. */
    static final String LIBRARY = "jccl.emulated.cuda";

    /** Name in /proc of emulated GPU memory that processes share. */
    private static final String SHARED_MEMORY = "jccl-emulated-gpu";

    private EmulatedGpus() {}

    /** Makes this process use emulated GPUs. Must be called before it first uses a device. */
    static void use() {
        System.setProperty("jccl.cuda.path", library());
    }

    /** Returns the path of the library that emulates GPUs; skips the test if it was not built. */
    static String library() {
        Path library = Path.of(System.getProperty(LIBRARY, "none"));
        assumeTrue(Files.exists(library), library + " was not built");
        return library.toString();
    }

    /**
     * Requires that a capture of device operations is refused because of {@code why}, and that operations without a
     * capture still work.
     */
    static void requireNoCapture(LocalRanks ranks, String why) {
        ranks.run(comm -> {
            try (DeviceMemory memory = new DeviceMemory(0, 64)) {
                assertThatThrownBy(() ->
                                memory.capture(() -> comm.on(memory.stream()).barrier()))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining(why);
                comm.on(memory.stream()).barrier().await();
            }
        });
    }

    /** All-reduces on a device, and requires that every element is correct. */
    static void sumUp(Communicator comm, int device) {
        sumUp(comm, device, 0);
    }

    /**
     * Sends a large message from symmetric memory to the next rank, and requires that each rank gets that of the previous
     * one.
     */
    static void sendSymmetric(Communicator comm, int device) {
        int size = comm.size();
        int previous = (comm.rank() + size - 1) % size;
        int bytes = 8 * SUMMED;
        try (SymmetricMemory memory = comm.allocateSymmetric(bytes);
                DeviceMemory sent = new DeviceMemory(
                        device, bytes, memory.as(DataType.INT64).address());
                DeviceMemory received = new DeviceMemory(device, bytes)) {
            sent.putLongs(LongStream.range(0, SUMMED).map(i -> i * size + comm.rank()));
            comm.on(sent.stream())
                    .sendReceive(
                            sent.elements(SUMMED, DataType.INT64),
                            (comm.rank() + 1) % size,
                            received.elements(SUMMED, DataType.INT64),
                            previous)
                    .await();
            assertThat(received.longs(SUMMED))
                    .isEqualTo(LongStream.range(0, SUMMED)
                            .map(i -> i * size + previous)
                            .toArray());
        }
    }

    /** All-reduces in symmetric memory, and requires that every element is correct. */
    static void sumUpSymmetric(Communicator comm, int device) {
        try (SymmetricMemory memory = comm.allocateSymmetric(8L * SUMMED)) {
            sumUp(comm, device, memory.as(DataType.INT64).address());
        }
    }

    private static void sumUp(Communicator comm, int device, long address) {
        int count = SUMMED;
        try (DeviceMemory memory = new DeviceMemory(device, 8 * count, address)) {
            memory.putLongs(LongStream.range(0, count));
            Work work = comm.on(memory.stream()).allReduce(memory.elements(count, DataType.INT64), ReduceOp.SUM);
            assertThat(memory.longs(count))
                    .isEqualTo(
                            LongStream.range(0, count).map(i -> comm.size() * i).toArray());
            work.await();
        }
    }

    /** All-reduces, and sends messages between all ranks that take all channels; requires that both are correct. */
    static void exchange(Communicator comm, int device) {
        sumUp(comm, device);
        int each = 40_000; // elements: more than two channels carry
        int all = each * comm.size();
        try (DeviceMemory memory = new DeviceMemory(device, 2 * 8 * all)) {
            DataBuffer sent = memory.elements(2L * all, DataType.INT64).slice(0, all);
            DataBuffer received = memory.elements(2L * all, DataType.INT64).slice(all, all);
            memory.putLongs(LongStream.range(0, all).map(i -> (long) comm.rank() * all + i));
            comm.on(memory.stream()).allToAll(sent, received).await();
            long[] found = memory.longs(2 * all);
            for (int i = 0; i < all; i++) {
                long from = i / each;
                assertThat(found[all + i]).isEqualTo(from * all + (long) comm.rank() * each + i % each);
            }
        }
    }

    /** Returns this process's descriptors and mappings of emulated GPU memory that processes share. */
    static List<String> sharedMemory() {
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"));
                Stream<String> mappings = Files.lines(Path.of("/proc/self/maps"))) {
            return Stream.concat(descriptors.map(EmulatedGpus::target), mappings)
                    .filter(one -> one.contains(SHARED_MEMORY))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String target(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (IOException closed) {
            return ""; // the descriptor was closed meanwhile
        }
    }

    static CommunicatorConfig.Builder config() {
        return LocalRanks.config().device(0).setting("JCCL_NTHREADS", "64");
    }

    /**
     * Writes a topology file and returns its path. The emulator's GPUs from 0000:11:00.0 on are on PCI switches without
     * NVLink.
     *
     * @param socketOfGpu the socket of each GPU
     */
    static String topologyOfSockets(Path folder, int... socketOfGpu) throws IOException {
        String cpu = "<cpu numaid='%d' affinity='%d' arch='x86_64' vendor='GenuineIntel' familyid='6' modelid='143'>";
        String pci = "<pci busid='0000:%02d:00.0' class='0x0%s00' link_speed='32.0 GT/s PCIe' link_width='16'>";
        StringBuilder text = new StringBuilder("<system version='1'>");
        for (int socket = 0; socket < 2; socket++) {
            text.append(cpu.formatted(socket, socket + 1)).append(pci.formatted(50 + socket, "604"));
            for (int gpu = 0; gpu < socketOfGpu.length; gpu++) {
                if (socketOfGpu[gpu] == socket) {
                    text.append(pci.formatted(11 + gpu, "302"))
                            .append("<gpu dev='%d' sm='90' gdr='1'/></pci>".formatted(gpu));
                }
            }
            text.append("</pci></cpu>");
        }
        return Files.writeString(folder.resolve("sockets.xml"), text.append("</system>"))
                .toString();
    }

    /**
     * Writes a topology file and returns its path. The emulator's GPUs are at 0000:11:00.0 and 0000:12:00.0; the
     * adapter is on the second one's PCI switch.
     */
    static String topologyWithOneAdapter(Path folder, String cardName) throws IOException {
        String gpu =
                """
                <pci busid="0000:%1$s:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
                  <pci busid="0000:%2$s:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
                    <gpu dev="%3$d" sm="90" gdr="1"><nvlink target="ffff:ff:ff.f" count="18" tclass="0x068000"/></gpu>
                  </pci>%4$s
                </pci>
                """;
        String card =
                """
                  <pci busid="0000:30:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
                    <nic><net name="%s" dev="0" speed="400000" port="1" gdr="1"/></nic>
                  </pci>"""
                        .formatted(cardName);
        String cpu = "<cpu numaid=\"%d\" affinity=\"%s\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\""
                + " modelid=\"143\">\n%s</cpu>\n";
        String text = "<system version=\"1\">\n"
                + cpu.formatted(0, "1", gpu.formatted("10", "11", 0, ""))
                + cpu.formatted(1, "2", gpu.formatted("20", "12", 1, card))
                + "</system>\n";
        return Files.writeString(folder.resolve("host.xml"), text).toString();
    }
}
