package io.jccl.topology;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Makes the files by which a kernel describes a host, by hand or from a capture of a real host. */
final class SysfsTree {

    private final Path root;

    SysfsTree(Path root) {
        this.root = root;
    }

    Path root() {
        return root;
    }

    /** Unpacks a capture: lines {@code PATH = CONTENT} for files and {@code PATH -> TARGET} for links. */
    SysfsTree unpack(String name) {
        try (InputStream in = SysfsTree.class.getResourceAsStream("sysfs/" + name + ".tree")) {
            String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            for (String line : text.lines().toList()) {
                String[] link = line.split(" -> ", 2);
                String[] file = line.split(" = ", 2);
                if (link.length == 2) {
                    Path at = root.resolve(link[0]);
                    Files.createDirectories(at.getParent());
                    Files.createSymbolicLink(at, Path.of(link[1]));
                } else if (file.length == 2) {
                    file(file[0], file[1].replace("\\n", "\n") + "\n");
                }
            }
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    SysfsTree file(String path, String content) {
        try {
            Path file = root.resolve(path);
            Files.createDirectories(file.getParent());
            Files.writeString(file, content);
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    SysfsTree link(String path, String target) {
        try {
            Path link = root.resolve(path);
            Files.createDirectories(link.getParent());
            Files.createSymbolicLink(link, link.getParent().relativize(root.resolve(target)));
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    SysfsTree processor(String vendor, int family, int model) {
        return file(
                "proc/cpuinfo",
                "vendor_id\t: " + vendor + "\ncpu family\t: " + family + "\nmodel\t\t: " + model
                        + "\nmodel name\t: X\n");
    }

    SysfsTree node(int number, String cpus, String distances) {
        file("sys/devices/system/node/node" + number + "/cpumap", cpus + "\n");
        return file("sys/devices/system/node/node" + number + "/distance", distances + "\n");
    }

    /** Adds a PCI device at the end of a chain such as {@code pci0000:80/0000:80:01.0/0000:81:00.0}. */
    SysfsTree device(String chain, String pciClass, int numaNode) {
        String path = "sys/devices/" + chain;
        file(path + "/class", pciClass + "\n").file(path + "/numa_node", numaNode + "\n");
        return link("sys/bus/pci/devices/" + chain.substring(chain.lastIndexOf('/') + 1), path);
    }

    SysfsTree ids(String chain, String vendor, String device, String subVendor, String subDevice) {
        String path = "sys/devices/" + chain + "/";
        file(path + "vendor", vendor + "\n").file(path + "device", device + "\n");
        return file(path + "subsystem_vendor", subVendor + "\n").file(path + "subsystem_device", subDevice + "\n");
    }

    SysfsTree speed(String chain, String speed, String width) {
        String path = "sys/devices/" + chain + "/";
        return file(path + "max_link_speed", speed + "\n").file(path + "max_link_width", width + "\n");
    }

    SysfsTree gpu(String chain, int numaNode) {
        return device(chain, "0x030200", numaNode).ids(chain, "0x10de", "0x2330", "0x10de", "0x16c1");
    }

    /**
     * Adds a network interface.
     *
     * @param path the interface's folder below sys/devices: in {@code virtual}, or in the folder of its card
     */
    SysfsTree net(String name, String path, String speed, String state) {
        file("sys/devices/" + path + "/type", "1\n");
        file("sys/devices/" + path + "/speed", speed + "\n");
        file("sys/devices/" + path + "/operstate", state + "\n");
        return link("sys/class/net/" + name, "sys/devices/" + path);
    }

    /** Adds a verbs adapter with one port, on the card at the end of a chain. */
    SysfsTree verbs(String name, String chain, String rate, String state, String layer, String guid) {
        String path = "sys/devices/" + chain + "/infiniband/" + name;
        file(path + "/sys_image_guid", guid + "\n");
        file(path + "/ports/1/rate", rate + "\n");
        file(path + "/ports/1/state", state + "\n");
        file(path + "/ports/1/link_layer", layer + "\n");
        link(path + "/device", "sys/devices/" + chain);
        return link("sys/class/infiniband/" + name, path);
    }
}
