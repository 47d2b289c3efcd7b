/** Opens the folders that a plug-in lists, in the data worker and the trainer. */
import type { FolderOpener } from "../protocol/plugin-calls.ts";
import { hubFolders } from "./hub/folder.ts";

export const PLUGIN_FOLDERS: readonly FolderOpener[] = [hubFolders];
