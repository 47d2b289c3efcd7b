/*
 * Lets headless Chromium compute on lavapipe, for measuring: no flag of the browser does. Without a graphics card it
 * opens the SwiftShader beside its own binary and accepts no other software driver. Preloaded, this library answers that
 * one opening with itself, passes every call on to Mesa's driver, and reports the identity Chromium insists on. Compute
 * only: what the browser shares between its processes for drawing still belongs to the real SwiftShader.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <vulkan/vulkan.h>

static const char EXPECTED[] = "libvk_swiftshader.so";
static const char DRIVER[] = "libvulkan_lvp.so";
enum { SWIFTSHADER_VENDOR = 0x1AE0, SWIFTSHADER_DEVICE = 0xC0DE, LOADER_INTERFACE = 5 };

typedef PFN_vkVoidFunction(VKAPI_PTR *Lookup)(VkInstance, const char *);
static Lookup driver_lookup;
static PFN_vkCreateInstance driver_create;
static PFN_vkGetPhysicalDeviceProperties driver_properties;
static PFN_vkGetPhysicalDeviceProperties2 driver_properties2;

/* Only Dawn's own opening is answered; ANGLE opens the same name through the Vulkan loader and must get the real one. */
static int asked_by_browser(const void *caller) {
  Dl_info info;
  if (dladdr(caller, &info) == 0 || info.dli_fname == NULL) return 0;
  return strstr(info.dli_fname, "/chromium/chromium") != NULL || strstr(info.dli_fname, "/chrome/chrome") != NULL;
}

void *dlopen(const char *name, int flags) {
  static void *(*original)(const char *, int);
  if (original == NULL) original = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
  Dl_info self;
  if (name != NULL && strstr(name, EXPECTED) != NULL && asked_by_browser(__builtin_return_address(0)) &&
      dladdr((const void *)dlopen, &self) != 0)
    name = self.dli_fname;
  return original(name, flags);
}

static void disguise(VkPhysicalDeviceProperties *properties) {
  properties->vendorID = SWIFTSHADER_VENDOR;
  properties->deviceID = SWIFTSHADER_DEVICE;
}

static VKAPI_ATTR void VKAPI_CALL properties(VkPhysicalDevice device, VkPhysicalDeviceProperties *out) {
  driver_properties(device, out);
  disguise(out);
}

static VKAPI_ATTR void VKAPI_CALL properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *out) {
  driver_properties2(device, out);
  disguise(&out->properties);
}

static VKAPI_ATTR VkResult VKAPI_CALL create(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *memory,
                                             VkInstance *out) {
  VkResult result = driver_create(info, memory, out);
  if (result == VK_SUCCESS) {
    driver_properties = (PFN_vkGetPhysicalDeviceProperties)driver_lookup(*out, "vkGetPhysicalDeviceProperties");
    driver_properties2 = (PFN_vkGetPhysicalDeviceProperties2)driver_lookup(*out, "vkGetPhysicalDeviceProperties2");
  }
  return result;
}

static int open_driver(void) {
  if (driver_lookup != NULL) return 1;
  void *library = dlopen(DRIVER, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return 0;
  PFN_vkVoidFunction negotiate = (PFN_vkVoidFunction)dlsym(library, "vk_icdNegotiateLoaderICDInterfaceVersion");
  uint32_t version = LOADER_INTERFACE;
  if (negotiate != NULL) ((VkResult(VKAPI_PTR *)(uint32_t *))negotiate)(&version);
  driver_lookup = (Lookup)dlsym(library, "vk_icdGetInstanceProcAddr");
  return driver_lookup != NULL;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance, const char *name) {
  if (!open_driver()) return NULL;
  if (strcmp(name, "vkGetInstanceProcAddr") == 0) return (PFN_vkVoidFunction)vkGetInstanceProcAddr;
  PFN_vkVoidFunction found = driver_lookup(instance, name);
  if (found == NULL) return NULL;
  if (strcmp(name, "vkCreateInstance") == 0) {
    driver_create = (PFN_vkCreateInstance)found;
    return (PFN_vkVoidFunction)create;
  }
  if (strcmp(name, "vkGetPhysicalDeviceProperties") == 0) return (PFN_vkVoidFunction)properties;
  if (strcmp(name, "vkGetPhysicalDeviceProperties2") == 0 || strcmp(name, "vkGetPhysicalDeviceProperties2KHR") == 0)
    return (PFN_vkVoidFunction)properties2;
  return found;
}
